// Where a person stopped reading. It is kept in the browser: two people (or two devices) read at their own pace.
import type { AgentStatus, Event } from "../api/types";

export interface LastSeen {
  /** Where the feed goes on; opaque. */
  cursor: string;
  /** The newest number seen of each agent, so that every event can tell whether it is new. */
  seen: Readonly<Record<string, number>>;
  /** When, by this browser's clock. */
  at: string;
}

const STORAGE_KEY = "wakeful.last-seen";

export function storedLastSeen(): LastSeen | undefined {
  try {
    const lastSeen = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "null") as LastSeen | null;
    return lastSeen && typeof lastSeen.cursor === "string" && typeof lastSeen.seen === "object" ? lastSeen : undefined;
  } catch {
    return undefined;
  }
}

export function storeLastSeen(lastSeen: LastSeen): void {
  localStorage.setItem(STORAGE_KEY, JSON.stringify(lastSeen));
}

/** The look after everything in this list was seen. */
export function markSeen(before: LastSeen | undefined, events: readonly Event[], cursor: string, now: Date): LastSeen {
  const seen: Record<string, number> = { ...before?.seen };
  for (const event of events) seen[event.agent_id] = Math.max(seen[event.agent_id] ?? 0, event.seq);
  return { cursor, seen, at: now.toISOString() };
}

/** What is new since a look; everything, when nobody ever looked. */
export function newSince(lastSeen: LastSeen | undefined, events: readonly Event[]): readonly Event[] {
  return lastSeen ? events.filter((event) => event.seq > (lastSeen.seen[event.agent_id] ?? 0)) : events;
}

/** Whether a look is of another log: numbers never go back, so an agent that is behind it has begun anew. */
export function isOtherLog(lastSeen: LastSeen, agents: readonly Pick<AgentStatus, "agent_id" | "last_seq">[]): boolean {
  return agents.some((agent) => agent.last_seq < (lastSeen.seen[agent.agent_id] ?? 0));
}
