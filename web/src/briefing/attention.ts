// What waits for a person: agents that cannot go on, and events that somebody has to do something about.
import type { Decision, Event, Parked, RunLine, Stuck } from "../api/types";
import { parkedOf } from "../budget/money";
import { summaryBody } from "../event/payload";
import { groupByRun, type RunStory } from "../event/runStory";

export type AttentionItem = PendingDecision | QuarantinedRun | ParkedAgent | StuckAgent | RunAlert;

interface PendingDecision {
  kind: "decision";
  id: string;
  decision: Decision;
}

interface QuarantinedRun {
  kind: "quarantined";
  id: string;
  run: RunLine;
}

/** What the server keeps for a person, beside what happened. */
export interface ServerAttention {
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
  message: string;
}

interface StuckAgent {
  kind: "stuck";
  id: string;
  stuck: Stuck;
}

export interface RunAlert {
  kind: "alert";
  id: string;
  agentId: string;
  runKey?: string;
  at: string;
  prompt?: string;
  /** Newest last; each with other words. */
  events: readonly Event[];
  /** What to put on the handled list when a person is done with it. */
  eventIds: readonly string[];
}

/** The server's word for an agent that is stuck because its run has no money. */
const BUDGET_EXCEEDED = "budget_exceeded";
const PARKED = "run_parked";

/** Stuck for a reason that stands here by itself. */
const HAS_OWN_CARD = [BUDGET_EXCEEDED, "decision_pending", "braked", "run_quarantined"];

/** Events of what is shown as it stands now: that it happened is no trouble any more once it moves on. */
const CARD_EVENTS = [PARKED, "decision_asked", "decision_escalated", "run_quarantined"];

const NOTHING: ServerAttention = { decisions: [], quarantined: [] };

/**
 * Questions first, then runs that stand aside, then agents without money and stuck ones first, then troubles, newest first, one per run. Who waits or is stuck cannot be
 * waved away: it is there until it moves again. A trouble is, event by event, so that a new one in the same run comes up
 * again.
 */
export function attentionItems(
  stuck: readonly Stuck[],
  events: readonly Event[],
  dismissed: ReadonlySet<string>,
  server: ServerAttention = NOTHING,
): AttentionItem[] {
  const stories = groupByRun(events);
  const prompts = new Map(stories.map((story) => [story.id, story.prompt]));
  const stuckAgents = stuck
    .filter((one) => !HAS_OWN_CARD.includes(one.code))
    .map((one): AttentionItem => ({ kind: "stuck", id: `stuck/${one.agent_id}`, stuck: one }));
  const isShown = (event: Event) =>
    event.presentation.visibility === "action_required" &&
    !CARD_EVENTS.includes(event.kind) &&
    !dismissed.has(event.event_id);
  const alerts = groupByRun(events.filter(isShown)).map((story): AttentionItem => {
    const { id, agentId, runKey, at } = story;
    const eventIds = story.events.map((event) => event.event_id);
    return {
      kind: "alert",
      id,
      agentId,
      runKey,
      at,
      prompt: prompts.get(id),
      events: distinctEvents(story.events),
      eventIds,
    };
  });
  const decisions = server.decisions.map(
    (decision): AttentionItem => ({ kind: "decision", id: `decision/${decision.decision_id}`, decision }),
  );
  const quarantinedRuns = server.quarantined.map(
    (run): AttentionItem => ({ kind: "quarantined", id: `quarantined/${run.run_key}`, run }),
  );
  return [...decisions, ...quarantinedRuns, ...parkedAgents(stuck, stories), ...stuckAgents, ...alerts];
}

/** Whose run waits for money: those of whom the server says so, and those of whom it is the newest thing that happened. */
function parkedAgents(stuck: readonly Stuck[], stories: readonly RunStory[]): AttentionItem[] {
  const waiting = new Map(
    stories
      .filter((story) => story.events.at(-1)?.kind === PARKED)
      .map((story): [string, RunStory] => [story.agentId, story]),
  );
  const messages = new Map(
    stuck.filter((one) => one.code === BUDGET_EXCEEDED).map((one) => [one.agent_id, one.message]),
  );
  return [...new Set([...messages.keys(), ...waiting.keys()])].sort().map((agentId): AttentionItem => {
    const story = waiting.get(agentId);
    const event = story?.events.at(-1);
    return {
      kind: "parked",
      id: `parked/${agentId}`,
      agentId,
      runKey: story?.runKey,
      prompt: story?.prompt,
      parked: event && parkedOf(event),
      message: messages.get(agentId) ?? (event && summaryBody(event)) ?? "",
    };
  });
}

/** Each thing said once; that a run ended is not said beside the reason. */
function distinctEvents(events: readonly Event[]): Event[] {
  const bySummary = new Map(events.map((event) => [event.presentation.summary, event]));
  const reasons = [...bySummary.values()].filter((event) => event.kind !== "run_ended");
  return reasons.length > 0 ? reasons : [...bySummary.values()];
}

/** Most entries of the handled list; what is older is out of every feed's reach anyway. */
const DISMISSED_MAX = 1_000;
const STORAGE_KEY = "wakeful.dismissed";

export function storedDismissed(): ReadonlySet<string> {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]");
    return new Set(Array.isArray(list) ? list.filter((key) => typeof key === "string") : []);
  } catch {
    return new Set();
  }
}

export function storeDismissed(dismissed: ReadonlySet<string>): void {
  localStorage.setItem(STORAGE_KEY, JSON.stringify([...dismissed].slice(-DISMISSED_MAX)));
}
