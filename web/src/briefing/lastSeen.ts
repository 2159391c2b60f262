// How far the reader has marked events as seen. Kept in the browser, so that each reader and device has its own mark.
import type { AgentStatus, Event } from "../api/types";

export interface LastSeen {
  /** Where the feed continues; opaque. */
  cursor: string;
  /** The newest sequence number seen of each agent. */
  seen: Readonly<Record<string, number>>;
  /** When it was marked, by the clock of this browser. */
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

/** The mark after everything in this list was seen. */
export function markSeen(before: LastSeen | undefined, events: readonly Event[], cursor: string, now: Date): LastSeen {
  const seen: Record<string, number> = { ...before?.seen };
  for (const event of events) seen[event.agent_id] = Math.max(seen[event.agent_id] ?? 0, event.seq);
  return { cursor, seen, at: now.toISOString() };
}

/** The events after the mark; all of them without one. */
export function newSince(lastSeen: LastSeen | undefined, events: readonly Event[]): readonly Event[] {
  return lastSeen ? events.filter((event) => event.seq > (lastSeen.seen[event.agent_id] ?? 0)) : events;
}

/** Whether a mark belongs to another log: sequence numbers only grow, so an agent behind its mark is a new one. */
export function isOtherLog(lastSeen: LastSeen, agents: readonly Pick<AgentStatus, "agent_id" | "last_seq">[]): boolean {
  return agents.some((agent) => agent.last_seq < (lastSeen.seen[agent.agent_id] ?? 0));
}
