// A bounded list of events without duplicates.
import type { Event } from "../api/types";

/** The most events that a page keeps, so that a tab that stays open for weeks does not grow without limit. */
export const LOG_EVENTS_MAX = 5_000;

/** The key of an event: its sequence number is unique within its agent only. */
export function eventKey(event: Pick<Event, "agent_id" | "seq">): string {
  return `${event.agent_id}/${event.seq}`;
}

/**
 * Merges incoming events into the known ones. Returns the same list when nothing is new, so that a reconnect that
 * delivers only known events renders nothing.
 */
export function merge(known: readonly Event[], incoming: readonly Event[]): readonly Event[] {
  const keys = new Set(known.map(eventKey));
  const fresh = incoming.filter((event) => {
    const key = eventKey(event);
    return keys.has(key) ? false : keys.add(key);
  });
  if (fresh.length === 0) return known;
  return [...known, ...fresh].sort(inOrder).slice(-LOG_EVENTS_MAX);
}

/** By time; within an agent by sequence number, because clocks can go back. */
function inOrder(a: Event, b: Event): number {
  if (a.agent_id === b.agent_id) return a.seq - b.seq;
  return a.at < b.at ? -1 : a.at > b.at ? 1 : a.agent_id < b.agent_id ? -1 : 1;
}

/** The runs of events, each once. */
export function runKeysOf(events: readonly Event[]): string[] {
  return [...new Set(events.flatMap((event) => event.run_key ?? []))];
}
