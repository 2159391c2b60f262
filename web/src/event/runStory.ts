// Events grouped by run, so that the reader sees what an agent did instead of single log lines.

import type { Event, RunSummary } from "../api/types";
import { dollars, isSpent } from "../budget/money";
import { labels } from "../labels";
import { eventKey } from "../live/log";
import { humanizeCode, type Tone } from "../run/text";
import { toSentence } from "../text/sentence";
import { payloadOf, summaryBody } from "./payload";

export interface RunStory {
  id: string;
  agentId: string;
  runKey?: string;
  /** Oldest first. */
  events: readonly Event[];
  /** The time of the newest event. */
  at: string;
  /** How the run ended; absent while it is open, or when its end is not among the events. */
  outcome?: string;
  /** The message that started the run, if it is among the events. */
  prompt?: string;
  /** The reason of a failure, or the newest reply of the model. */
  quote?: string;
}

/** A run as the server counts it. */
export type CountedRun = Pick<RunSummary, "counts" | "cost_usd" | "waiting_for">;

/** Groups events by run; an event without a run is a story of its own. The story with the newest event is first. */
export function groupByRun(events: readonly Event[]): RunStory[] {
  const groups = new Map<string, Event[]>();
  for (const event of events) {
    const id = event.run_key ? `${event.agent_id}/run/${event.run_key}` : eventKey(event);
    const group = groups.get(id);
    if (group) group.push(event);
    else groups.set(id, [event]);
  }
  const stories = [...groups].map(([id, group]) => toStory(id, group));
  return stories.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}

function toStory(id: string, events: readonly Event[]): RunStory {
  const first = events[0] as Event;
  const newest = (kind: string) => events.findLast((event) => event.kind === kind);
  const ended = newest("run_ended");
  const admitted = newest("message_admitted");
  const failed = newest("runtime_error");
  const end = payloadOf(ended, "run_ended");
  const said = events.findLast((event) => payloadOf(event, "assistant_round_recorded")?.text);
  return {
    id,
    agentId: first.agent_id,
    runKey: first.run_key,
    events,
    at: (events.at(-1) as Event).at,
    outcome: ended && (end?.outcome ?? "ended"),
    prompt: payloadOf(admitted, "message_admitted")?.text || undefined,
    quote: failed ? toSentence(summaryBody(failed)) : payloadOf(said, "assistant_round_recorded")?.text,
  };
}

/** Stories next to each other that failed for the same reason. */
export interface JoinedStories {
  /** The newest of them. */
  story: RunStory;
  count: number;
}

/** Joins neighbours of one agent that failed for the same reason, as the list of what needs attention does. */
export function joinEqual(stories: readonly RunStory[]): JoinedStories[] {
  const joined: JoinedStories[] = [];
  for (const story of stories) {
    const last = joined.at(-1);
    if (last && isSameFailure(last.story, story)) last.count += 1;
    else joined.push({ story, count: 1 });
  }
  return joined;
}

function isSameFailure(one: RunStory, other: RunStory): boolean {
  const isFailed = one.outcome === "failed" && other.outcome === "failed";
  return isFailed && one.agentId === other.agentId && one.quote !== undefined && one.quote === other.quote;
}

export function toneOf({ runKey, outcome }: RunStory, run?: CountedRun): Tone {
  if (runKey === undefined) return "quiet";
  if (outcome === "completed") return "good";
  if (outcome === "failed") return "bad";
  return outcome || run?.waiting_for ? "warn" : "busy";
}

/** The text between the agent's name and the quoted message of the run. */
export function headline(story: RunStory, run?: CountedRun): string {
  if (!story.runKey) return `· ${story.events[0]?.presentation.title}`;
  if (story.outcome) return labels.story.outcomes[story.outcome] ?? labels.story.ended(humanizeCode(story.outcome));
  if (run?.waiting_for) return labels.story.waiting[run.waiting_for];
  const isStarted = story.events.some((event) => event.kind !== "message_admitted");
  return isStarted ? labels.story.working : labels.story.received;
}

/** Actions, model rounds and cost of a run, as the server counts them: the events on the page may be only some. */
export function cost({ counts, cost_usd: usd }: CountedRun): string {
  const parts = [
    counts && counts.tool_calls > 0 && labels.run.actions(counts.tool_calls),
    counts && counts.denied > 0 && labels.run.denied(counts.denied),
    counts && counts.failed > 0 && labels.run.failedActions(counts.failed),
    counts && counts.unknown > 0 && labels.run.unknownOutcomes(counts.unknown),
    counts && counts.model_rounds > 0 && labels.run.rounds(counts.model_rounds),
    isSpent(usd) && dollars(usd),
  ];
  return parts.filter(Boolean).join(" · ");
}
