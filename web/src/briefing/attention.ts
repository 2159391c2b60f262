// What a person has to act on: decisions, quarantined and parked runs, stuck agents, and events that need attention.
import type { Decision, Event, ParkedReason, RunSummary, StuckAgent } from "../api/types";
import { parkedOf } from "../budget/money";
import { summaryBody } from "../event/payload";
import { groupByRun, type RunStory } from "../event/runStory";

export type AttentionItem = PendingDecision | QuarantinedRun | ParkedAgent | StuckAgentItem | RunAlert;

interface PendingDecision {
  kind: "decision";
  id: string;
  decision: Decision;
}

interface QuarantinedRun {
  kind: "quarantined";
  id: string;
  run: RunSummary;
}

/** What the server lists by its current state, beside the events. */
export interface ServerAttention {
  decisions: readonly Decision[];
  quarantined: readonly RunSummary[];
}

interface ParkedAgent {
  kind: "parked";
  id: string;
  agentId: string;
  runKey?: string;
  prompt?: string;
  /** The amounts, as far as the event has them. */
  parked?: ParkedReason;
  /** The server's reason. */
  message: string;
}

interface StuckAgentItem {
  kind: "stuck";
  id: string;
  stuck: StuckAgent;
}

export interface RunAlert {
  kind: "alert";
  id: string;
  agentId: string;
  runKey?: string;
  at: string;
  prompt?: string;
  /** Newest last, each with a different text. */
  events: readonly Event[];
  /** The events to dismiss with the card. */
  eventIds: readonly string[];
}

/** The server's code for an agent that is stuck because a cap is reached. */
const BUDGET_EXCEEDED = "budget_exceeded";
const PARKED = "run_parked";

/** Reasons for being stuck that have a card of their own. */
const HAS_OWN_CARD = [BUDGET_EXCEEDED, "decision_pending", "braked", "run_quarantined"];

/** Events whose subject has a card for its current state, so that the event itself needs none. */
const CARD_EVENTS = [PARKED, "decision_asked", "decision_escalated", "run_quarantined"];

const NOTHING: ServerAttention = { decisions: [], quarantined: [] };

/**
 * Decisions first, then quarantined runs, parked runs, stuck agents and alerts; alerts newest first, one per run. Only
 * alerts can be dismissed, event by event, so that a new event of the same run shows the card again. The other cards
 * stay until the state that they show changes.
 */
export function attentionItems(
  stuck: readonly StuckAgent[],
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

/** Agents over a cap: those that the server lists, and those whose newest event says so. */
function parkedAgents(stuck: readonly StuckAgent[], stories: readonly RunStory[]): AttentionItem[] {
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

/** Each text once. The end of a run is left out where another event has the reason. */
function distinctEvents(events: readonly Event[]): Event[] {
  const bySummary = new Map(events.map((event) => [event.presentation.summary, event]));
  const reasons = [...bySummary.values()].filter((event) => event.kind !== "run_ended");
  return reasons.length > 0 ? reasons : [...bySummary.values()];
}

/** The most entries of the dismissed list; no feed reaches back to older ones. */
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
