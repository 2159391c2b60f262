// The activity of an agent as a label, a sentence, an icon and a tone.
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";
import type { Tone } from "../run/text";
import type { IconName } from "../ui/Icon";

export interface ActivityView {
  label: string;
  /** The sentence after the agent's name. */
  sentence: string;
  icon: IconName;
  tone: Tone;
}

type Activity = keyof typeof labels.agent.activity;

const LOOKS: Record<Activity, { icon: IconName; tone: Tone }> = {
  braked: { icon: "stop", tone: "bad" },
  decision: { icon: "bell", tone: "warn" },
  parked: { icon: "coin", tone: "warn" },
  stuck: { icon: "knot", tone: "bad" },
  waiting: { icon: "pause", tone: "warn" },
  waitingOnYou: { icon: "bell", tone: "warn" },
  working: { icon: "sun", tone: "busy" },
  paused: { icon: "pause", tone: "warn" },
  queued: { icon: "queue", tone: "busy" },
  asleep: { icon: "moon", tone: "quiet" },
};

/** What an agent has used so far. Models that report no tokens are not said to use none. */
export function usageText({ token_usage: { total_tokens: tokens }, model_rounds: rounds }: AgentStatus): string {
  if (tokens === 0 && rounds === 0) return labels.agent.noUsage;
  return [tokens > 0 ? labels.agent.tokens(tokens) : "", labels.agent.rounds(rounds)]
    .filter((part) => part !== "")
    .join(" · ");
}

export function activityView(agent: AgentStatus, isParked = false): ActivityView {
  const activity = activityOf(agent, isParked);
  const { label, sentence } = labels.agent.activity[activity];
  const counts = [
    activity === "decision" ? labels.agent.pendingDecisions(agent.pending_decisions) : "",
    agent.pending > 0 ? labels.agent.queued(agent.pending) : "",
  ].filter((count) => count !== "");
  return { label, sentence: counts.length === 0 ? sentence : `${sentence} (${counts.join(", ")})`, ...LOOKS[activity] };
}

/** The most urgent of everything that is true of an agent. */
function activityOf(agent: AgentStatus, isParked: boolean): Activity {
  if (agent.is_braked) return "braked";
  if (agent.pending_decisions > 0) return "decision";
  if (isParked) return "parked";
  if (agent.activity === "stuck") return "stuck";
  if (agent.activity === "waiting_on_human") return "waitingOnYou";
  if (agent.activity === "waiting") return "waiting";
  if (agent.activity === "working") return "working";
  if (agent.control === "paused") return "paused";
  return agent.activity === "queued" ? "queued" : "asleep";
}
