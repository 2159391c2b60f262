// What waits for a person: agents that cannot go on, and events that somebody has to do something about.
import type { Decision, Event, Parked, RunLine, Stuck } from "../api/types";
import { parkedOf } from "../budget/money";
import { gist } from "../event/payload";
import { type Story, tell } from "../event/story";

export type Need = Question | Aside | ParkedAgent | StuckAgent | Trouble;

interface Question {
  kind: "decision";
  id: string;
  decision: Decision;
}

interface Aside {
  kind: "aside";
  id: string;
  run: RunLine;
}

/** What the server keeps for a person, beside what happened. */
export interface Kept {
  decisions: readonly Decision[];
  quarantined: readonly RunLine[];
}

interface ParkedAgent {
  kind: "parked";
  id: string;
  agentId: string;
  runKey?: string;
  prompt?: string;
  /** Why, as far as its event tells. */
  parked?: Parked;
  /** Why, as the server says it. */
  words: string;
}

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

/** The server's word for an agent that is stuck because its run has no money. */
const OUT_OF_MONEY = "budget_exceeded";
const PARKED = "run_parked";

/** Stuck for a reason that stands here by itself. */
const TOLD_OTHERWISE = [OUT_OF_MONEY, "decision_pending", "braked", "run_quarantined"];

/** Events of what is shown as it stands now: that it happened is no trouble any more once it moves on. */
const STANDING = [PARKED, "decision_asked", "decision_escalated", "run_quarantined"];

const NOTHING: Kept = { decisions: [], quarantined: [] };

/**
 * Questions first, then runs that stand aside, then agents without money and stuck ones first, then troubles, newest first, one per run. Who waits or is stuck cannot be
 * waved away: it is there until it moves again. A trouble is, event by event, so that a new one in the same run comes up
 * again.
 */
export function needs(
  stuck: readonly Stuck[],
  events: readonly Event[],
  handled: ReadonlySet<string>,
  kept: Kept = NOTHING,
): Need[] {
  const stories = tell(events);
  const prompts = new Map(stories.map((story) => [story.id, story.prompt]));
  const standing = stuck
    .filter((one) => !TOLD_OTHERWISE.includes(one.code))
    .map((one): Need => ({ kind: "stuck", id: `stuck/${one.agent_id}`, stuck: one }));
  const isOpen = (event: Event) =>
    event.presentation.visibility === "action_required" &&
    !STANDING.includes(event.kind) &&
    !handled.has(event.event_id);
  const troubles = tell(events.filter(isOpen)).map((story): Need => {
    const { id, agentId, runKey, at } = story;
    const keys = story.events.map((event) => event.event_id);
    return { kind: "trouble", id, agentId, runKey, at, prompt: prompts.get(id), events: distinct(story.events), keys };
  });
  const questions = kept.decisions.map(
    (decision): Need => ({ kind: "decision", id: `decision/${decision.decision_id}`, decision }),
  );
  const aside = kept.quarantined.map((run): Need => ({ kind: "aside", id: `aside/${run.run_key}`, run }));
  return [...questions, ...aside, ...withoutMoney(stuck, stories), ...standing, ...troubles];
}

/** Whose run waits for money: those of whom the server says so, and those of whom it is the newest thing that happened. */
function withoutMoney(stuck: readonly Stuck[], stories: readonly Story[]): Need[] {
  const waiting = new Map(
    stories
      .filter((story) => story.events.at(-1)?.kind === PARKED)
      .map((story): [string, Story] => [story.agentId, story]),
  );
  const said = new Map(stuck.filter((one) => one.code === OUT_OF_MONEY).map((one) => [one.agent_id, one.message]));
  return [...new Set([...said.keys(), ...waiting.keys()])].sort().map((agentId): Need => {
    const story = waiting.get(agentId);
    const event = story?.events.at(-1);
    return {
      kind: "parked",
      id: `parked/${agentId}`,
      agentId,
      runKey: story?.runKey,
      prompt: story?.prompt,
      parked: event && parkedOf(event),
      words: said.get(agentId) ?? (event && gist(event)) ?? "",
    };
  });
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
