// What models are saying right now, put together from the pieces that streams carry. Nothing of it is kept anywhere:
// the committed round replaces it.
import type { Delta, Event } from "../api/types";
import { payloadOf } from "../event/payload";

interface Attempt {
  attempt: number;
  /** By chunk number, so that a piece that comes twice or late does no harm. */
  chunks: ReadonlyMap<number, string>;
  /** The reply is committed; pieces that still come are of no interest. */
  isComplete: boolean;
}

/** The newest attempt of each run that speaks. */
export type LiveText = ReadonlyMap<string, Attempt>;

export const NO_LIVE_TEXT: LiveText = new Map();

/**
 * Takes in one piece. A greater attempt replaces a smaller one; what belongs to a finished one is dropped. Other words
 * in a known place mean that a crash cut the attempt off and it is made anew under its number: it begins again.
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

/** The events that say that what a run's model was saying is now in the transcript, or never will be. */
const ENDS: readonly string[] = ["assistant_round_recorded", "runtime_error", "run_ended"];

/** Takes in what an event says about the speech of its run. */
export function applyEvent(texts: LiveText, event: Event): LiveText {
  if (event.run_key === undefined) return texts;
  if (ENDS.includes(event.kind)) return markComplete(texts, event.run_key);
  const isFailed =
    event.kind === "provider_round_completed" && payloadOf(event, "provider_round_completed")?.outcome !== "succeeded";
  return isFailed ? dropText(texts, event.run_key) : texts;
}

/** Drops the words of an attempt that failed. It is not marked as over: after a lost connection this may come late. */
function dropText(texts: LiveText, runKey: string): LiveText {
  const now = texts.get(runKey);
  return !now || now.isComplete ? texts : new Map(texts).set(runKey, { ...now, chunks: new Map() });
}

/** Marks what a run is saying as complete. The words stay until the transcript has them, so that nothing flickers. */
export function markComplete(texts: LiveText, runKey: string): LiveText {
  const now = texts.get(runKey);
  return !now || now.isComplete ? texts : new Map(texts).set(runKey, { ...now, isComplete: true });
}

/**
 * Forgets the words of attempts that were complete in an earlier speech, and remembers that they are complete. Those that
 * have become so since are perhaps not in the transcript yet.
 */
export function removeRuns(texts: LiveText, earlier: LiveText = texts): LiveText {
  const isDue = (runKey: string, { attempt, isComplete, chunks }: Attempt) => {
    const before = earlier.get(runKey);
    return isComplete && chunks.size > 0 && before?.isComplete === true && before.attempt === attempt;
  };
  if (![...texts].some(([runKey, now]) => isDue(runKey, now))) return texts;
  return new Map([...texts].map(([runKey, now]) => [runKey, isDue(runKey, now) ? { ...now, chunks: new Map() } : now]));
}

/** The words so far. Where a piece is missing (we came late, or the line was cut) there is an ellipsis. */
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
