// A bounded list of events in which each stands once, however often the network brings it.
import type { Event } from "../api/types";

/** Most events a page keeps. A tab that stays open for weeks must not grow with them. */
export const LOG_EVENTS_MAX = 5_000;

/** Names an event: its number is unique only within its agent. */
export function eventKey(event: Pick<Event, "agent_id" | "seq">): string {
  return `${event.agent_id}/${event.seq}`;
}

/**
 * Merges newly read events into known ones. Returns the very same list when nothing is new, so that a reconnect that
 * brings only known events renders nothing.
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

/** By time; within an agent by number, which its clock cannot contradict. */
function inOrder(a: Event, b: Event): number {
  if (a.agent_id === b.agent_id) return a.seq - b.seq;
  return a.at < b.at ? -1 : a.at > b.at ? 1 : a.agent_id < b.agent_id ? -1 : 1;
}
