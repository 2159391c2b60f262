// Assembles the live text of models from the deltas of a stream. It is never stored: the committed round replaces it.
import type { Delta, Event } from "../api/types";
import { payloadOf } from "../event/payload";

interface Attempt {
  attempt: number;
  /** By chunk number, so that a duplicate or late delta changes nothing. */
  chunks: ReadonlyMap<number, string>;
  /** The reply is committed; later deltas are ignored. */
  isComplete: boolean;
}

/** The newest attempt of each run with live text. */
export type LiveText = ReadonlyMap<string, Attempt>;

export const NO_LIVE_TEXT: LiveText = new Map();

/**
 * Adds one delta. A higher attempt replaces a lower one; deltas of a complete attempt are dropped. A different text for
 * a known chunk means that a crash interrupted the attempt and it runs again under its number: its text starts over.
 */
export function addDelta(texts: LiveText, delta: Delta): LiveText {
  const now = texts.get(delta.run_key);
  if (now && delta.attempt < now.attempt) return texts;
  const isSame = now?.attempt === delta.attempt;
  const known = isSame ? now.chunks.get(delta.chunk) : undefined;
  if (isSame && (now.isComplete || known === delta.text)) return texts;
  const before = isSame && known === undefined ? now.chunks : [];
  const chunks = new Map(before).set(delta.chunk, delta.text);
  return new Map(texts).set(delta.run_key, { attempt: delta.attempt, chunks, isComplete: false });
}

/** The events after which the live text of a run is in the transcript, or never will be. */
const ENDS: readonly string[] = ["assistant_round_recorded", "runtime_error", "run_ended"];

/** Applies an event to the live text of its run. */
export function applyEvent(texts: LiveText, event: Event): LiveText {
  if (event.run_key === undefined) return texts;
  if (ENDS.includes(event.kind)) return markComplete(texts, event.run_key);
  const isFailed =
    event.kind === "provider_round_completed" && payloadOf(event, "provider_round_completed")?.outcome !== "succeeded";
  return isFailed ? dropText(texts, event.run_key) : texts;
}

/** Drops the text of a failed attempt. The attempt stays open: after a lost connection this event may arrive late. */
function dropText(texts: LiveText, runKey: string): LiveText {
  const now = texts.get(runKey);
  return !now || now.isComplete ? texts : new Map(texts).set(runKey, { ...now, chunks: new Map() });
}

/** Marks the text of a run as complete. It stays until the transcript has it, so that nothing flickers. */
export function markComplete(texts: LiveText, runKey: string): LiveText {
  const now = texts.get(runKey);
  return !now || now.isComplete ? texts : new Map(texts).set(runKey, { ...now, isComplete: true });
}

/**
 * Removes the text of attempts that were already complete in `earlier`. Attempts that completed since may not be in the
 * transcript yet, so their text stays.
 */
export function removeComplete(texts: LiveText, earlier: LiveText = texts): LiveText {
  const isDue = (runKey: string, { attempt, isComplete, chunks }: Attempt) => {
    const before = earlier.get(runKey);
    return isComplete && chunks.size > 0 && before?.isComplete === true && before.attempt === attempt;
  };
  if (![...texts].some(([runKey, now]) => isDue(runKey, now))) return texts;
  return new Map([...texts].map(([runKey, now]) => [runKey, isDue(runKey, now) ? { ...now, chunks: new Map() } : now]));
}

/** The text so far, with an ellipsis for missing chunks. */
export function liveText(texts: LiveText, runKey: string | undefined): string {
  const now = runKey === undefined ? undefined : texts.get(runKey);
  if (!now) return "";
  let text = "";
  let expected = 0;
  for (const chunk of [...now.chunks.keys()].sort((a, b) => a - b)) {
    text += (chunk === expected ? "" : "… ") + now.chunks.get(chunk);
    expected = chunk + 1;
  }
  return text;
}
