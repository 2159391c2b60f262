// What waits for a person: agents that cannot go on, and events that somebody has to do something about.
import type { Event, Stuck } from "../api/types";
import { tell } from "../event/story";

export type Need = StuckAgent | Trouble;

interface StuckAgent {
  kind: "stuck";
  id: string;
  stuck: Stuck;
}

interface Trouble {
  kind: "trouble";
  id: string;
  agentId: string;
  runKey?: string;
  at: string;
  prompt?: string;
  /** Newest last; each with other words. */
  events: readonly Event[];
  /** What to put on the handled list when a person is done with it. */
  keys: readonly string[];
}

/**
 * Stuck agents first, then troubles, newest first, one per run. A stuck agent cannot be waved away: it is there until
 * it moves again. A trouble is, event by event, so that a new one in the same run comes up again.
 */
export function needs(stuck: readonly Stuck[], events: readonly Event[], handled: ReadonlySet<string>): Need[] {
  const standing = stuck.map((one): Need => ({ kind: "stuck", id: `stuck/${one.agent_id}`, stuck: one }));
  const prompts = new Map(tell(events).map((story) => [story.id, story.prompt]));
  const isOpen = (event: Event) => event.presentation.visibility === "action_required" && !handled.has(event.event_id);
  const troubles = tell(events.filter(isOpen)).map((story): Need => {
    const { id, agentId, runKey, at } = story;
    const keys = story.events.map((event) => event.event_id);
    return { kind: "trouble", id, agentId, runKey, at, prompt: prompts.get(id), events: distinct(story.events), keys };
  });
  return [...standing, ...troubles];
}

/** Each thing said once; that a run ended is not said beside the reason. */
function distinct(events: readonly Event[]): Event[] {
  const bySummary = new Map(events.map((event) => [event.presentation.summary, event]));
  const reasons = [...bySummary.values()].filter((event) => event.kind !== "run_ended");
  return reasons.length > 0 ? reasons : [...bySummary.values()];
}

/** Most entries of the handled list; what is older is out of every feed's reach anyway. */
const HANDLED_MAX = 1_000;
const STORED_AS = "wakeful.handled";

export function storedHandled(): ReadonlySet<string> {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(STORED_AS) ?? "[]");
    return new Set(Array.isArray(list) ? list.filter((key) => typeof key === "string") : []);
  } catch {
    return new Set();
  }
}

export function storeHandled(handled: ReadonlySet<string>): void {
  localStorage.setItem(STORED_AS, JSON.stringify([...handled].slice(-HANDLED_MAX)));
}
