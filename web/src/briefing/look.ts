// Where a person stopped reading. It is kept in the browser: two people (or two devices) read at their own pace.
import type { AgentStatus, Event } from "../api/types";

export interface Look {
  /** Where the feed goes on; opaque. */
  cursor: string;
  /** The newest number seen of each agent, so that every event can tell whether it is new. */
  seen: Readonly<Record<string, number>>;
  /** When, by this browser's clock. */
  at: string;
}

const STORED_AS = "wakeful.look";

export function storedLook(): Look | undefined {
  try {
    const look = JSON.parse(localStorage.getItem(STORED_AS) ?? "null") as Look | null;
    return look && typeof look.cursor === "string" && typeof look.seen === "object" ? look : undefined;
  } catch {
    return undefined;
  }
}

export function storeLook(look: Look): void {
  localStorage.setItem(STORED_AS, JSON.stringify(look));
}

/** The look after everything in this list was seen. */
export function lookAt(before: Look | undefined, events: readonly Event[], cursor: string, now: Date): Look {
  const seen: Record<string, number> = { ...before?.seen };
  for (const event of events) seen[event.agent_id] = Math.max(seen[event.agent_id] ?? 0, event.seq);
  return { cursor, seen, at: now.toISOString() };
}

/** What is new since a look; everything, when nobody ever looked. */
export function since(look: Look | undefined, events: readonly Event[]): readonly Event[] {
  return look ? events.filter((event) => event.seq > (look.seen[event.agent_id] ?? 0)) : events;
}

/** Whether a look is of another log: numbers never go back, so an agent that is behind it has begun anew. */
export function isForeign(look: Look, agents: readonly Pick<AgentStatus, "agent_id" | "last_seq">[]): boolean {
  return agents.some((agent) => agent.last_seq < (look.seen[agent.agent_id] ?? 0));
}
