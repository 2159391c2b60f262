// Events told as stories: one per run, so that a person reads what an agent did and not what a log contains.
import type { Event } from "../api/types";
import { eventKey } from "../live/log";
import { pluralize } from "../text/number";
import { toSentence } from "../text/sentence";
import { payloadOf, summaryBody, totalTokens } from "./payload";

export interface RunStory {
  id: string;
  agentId: string;
  runKey?: string;
  /** Oldest first. */
  events: readonly Event[];
  /** When the newest of it happened. */
  at: string;
  /** How it ended; absent while it goes on, or when its end is not among the events. */
  outcome?: string;
  /** What was asked, as far as it is among the events. */
  prompt?: string;
  /** What to quote: why it failed, or the model's newest words. */
  quote?: string;
  calls: number;
  denied: number;
  rounds: number;
  tokens: number;
}

/** Groups events by run; an event without one stands alone. The story with the newest event comes first. */
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
  const rounds = events.filter((event) => event.kind === "provider_round_completed");
  const tokensOf = (event: Event) => totalTokens(payloadOf(event, "provider_round_completed")?.token_usage) ?? 0;
  const tokens = rounds.reduce((sum, event) => sum + tokensOf(event), 0);
  return {
    id,
    agentId: first.agent_id,
    runKey: first.run_key,
    events,
    at: (events.at(-1) as Event).at,
    outcome: ended && (end?.outcome ?? "ended"),
    prompt: payloadOf(admitted, "message_admitted")?.text || undefined,
    quote: failed ? toSentence(summaryBody(failed)) : payloadOf(said, "assistant_round_recorded")?.text,
    calls: events.filter((event) => event.kind === "tool_executed").length,
    denied: events.filter((event) => payloadOf(event, "policy_decided")?.status === "denied").length,
    rounds: end?.rounds ?? rounds.length,
    tokens: totalTokens(end?.token_usage) ?? tokens,
  };
}

const HEADLINES: Record<string, string> = {
  completed: "finished",
  failed: "failed at",
  out_of_rounds: "ran out of rounds on",
  cancelled: "was stopped while doing",
  abandoned: "was told to give up",
};

/** What follows the agent's name in the headline. The prompt, if known, is set after it as a quotation. */
export function headline(story: RunStory): string {
  if (!story.runKey) return `· ${story.events[0]?.presentation.title}`;
  if (story.outcome) return HEADLINES[story.outcome] ?? `ended (${story.outcome}) with`;
  const isStarted = story.events.some((event) => event.kind !== "message_admitted");
  return isStarted ? "is working on" : "was asked";
}

/** What it took, in a few words. */
export function cost(story: RunStory): string {
  const parts = [
    story.calls > 0 && pluralize(story.calls, "action"),
    story.denied > 0 && `${story.denied} denied`,
    story.rounds > 0 && pluralize(story.rounds, "model round"),
    story.tokens > 0 && pluralize(story.tokens, "token"),
  ];
  return parts.filter(Boolean).join(" · ");
}
