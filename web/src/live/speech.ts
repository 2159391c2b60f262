// What models are saying right now, put together from the pieces that streams carry. Nothing of it is kept anywhere:
// the committed round replaces it.
import type { Delta, Event } from "../api/types";
import { payloadOf } from "../event/payload";

interface Attempt {
  attempt: number;
  /** By chunk number, so that a piece that comes twice or late does no harm. */
  chunks: ReadonlyMap<number, string>;
  /** The reply is committed; pieces that still come are of no interest. */
  isOver: boolean;
}

/** The newest attempt of each run that speaks. */
export type Speech = ReadonlyMap<string, Attempt>;

export const SILENCE: Speech = new Map();

/**
 * Takes in one piece. A greater attempt replaces a smaller one; what belongs to a finished one is dropped. Other words
 * in a known place mean that a crash cut the attempt off and it is made anew under its number: it begins again.
 */
export function hear(speech: Speech, delta: Delta): Speech {
  const now = speech.get(delta.run_key);
  if (now && delta.attempt < now.attempt) return speech;
  const isSame = now?.attempt === delta.attempt;
  const known = isSame ? now.chunks.get(delta.chunk) : undefined;
  if (isSame && (now.isOver || known === delta.text)) return speech;
  const before = isSame && known === undefined ? now.chunks : [];
  const chunks = new Map(before).set(delta.chunk, delta.text);
  return new Map(speech).set(delta.run_key, { attempt: delta.attempt, chunks, isOver: false });
}

/** The events that say that what a run's model was saying is now in the transcript, or never will be. */
const ENDS: readonly string[] = ["assistant_round_recorded", "runtime_error", "run_ended"];

/** Takes in what an event says about the speech of its run. */
export function heed(speech: Speech, event: Event): Speech {
  if (event.run_key === undefined) return speech;
  if (ENDS.includes(event.kind)) return settle(speech, event.run_key);
  const isFailed =
    event.kind === "provider_round_completed" && payloadOf(event, "provider_round_completed")?.outcome !== "succeeded";
  return isFailed ? drop(speech, event.run_key) : speech;
}

/** Drops the words of an attempt that failed. It is not marked as over: after a lost connection this may come late. */
function drop(speech: Speech, runKey: string): Speech {
  const now = speech.get(runKey);
  return !now || now.isOver ? speech : new Map(speech).set(runKey, { ...now, chunks: new Map() });
}

/** Marks what a run is saying as complete. The words stay until the transcript has them, so that nothing flickers. */
export function settle(speech: Speech, runKey: string): Speech {
  const now = speech.get(runKey);
  return !now || now.isOver ? speech : new Map(speech).set(runKey, { ...now, isOver: true });
}

/**
 * Forgets the words of attempts that were complete in an earlier speech, and remembers that they are complete. Those that
 * have become so since are perhaps not in the transcript yet.
 */
export function forget(speech: Speech, earlier: Speech = speech): Speech {
  const isDue = (runKey: string, { attempt, isOver, chunks }: Attempt) => {
    const before = earlier.get(runKey);
    return isOver && chunks.size > 0 && before?.isOver === true && before.attempt === attempt;
  };
  if (![...speech].some(([runKey, now]) => isDue(runKey, now))) return speech;
  return new Map(
    [...speech].map(([runKey, now]) => [runKey, isDue(runKey, now) ? { ...now, chunks: new Map() } : now]),
  );
}

/** The words so far. Where a piece is missing (we came late, or the line was cut) there is an ellipsis. */
export function spoken(speech: Speech, runKey: string | undefined): string {
  const now = runKey === undefined ? undefined : speech.get(runKey);
  if (!now) return "";
  let text = "";
  let expected = 0;
  for (const chunk of [...now.chunks.keys()].sort((a, b) => a - b)) {
    text += (chunk === expected ? "" : "… ") + now.chunks.get(chunk);
    expected = chunk + 1;
  }
  return text;
}
