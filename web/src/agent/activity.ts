// What an agent does, in a word and a drawing.
import type { AgentStatus } from "../api/types";
import type { Tone } from "../run/text";
import { pluralize } from "../text/number";
import type { IconName } from "../ui/Icon";

export interface ActivityView {
  label: string;
  /** The rest of the sentence that begins with the agent's name. */
  sentence: string;
  icon: IconName;
  tone: Tone;
}

/** What an agent has cost so far. Models that count nothing are not said to cost nothing. */
export function usageText({ token_usage: { total_tokens: tokens }, model_rounds: rounds }: AgentStatus): string {
  if (tokens === 0 && rounds === 0) return "nothing used yet";
  return [tokens > 0 ? pluralize(tokens, "token") : "", pluralize(rounds, "model round")]
    .filter((part) => part !== "")
    .join(" · ");
}

export function activityView(agent: AgentStatus, isParked = false): ActivityView {
  const waiting = agent.pending > 0 ? `, ${pluralize(agent.pending, "message")} waiting` : "";
  if (agent.is_braked) {
    return {
      label: "Braked",
      sentence: `is braked: it keeps what comes and begins nothing${waiting}`,
      icon: "stop",
      tone: "bad",
    };
  }
  if (agent.pending_decisions > 0) {
    const many = pluralize(agent.pending_decisions, "decision");
    return { label: "Asks you", sentence: `waits for you: ${many} to make${waiting}`, icon: "bell", tone: "warn" };
  }
  if (isParked)
    return { label: "Out of money", sentence: `waits: the day's money is spent${waiting}`, icon: "coin", tone: "warn" };
  if (agent.activity === "stuck")
    return { label: "Stuck", sentence: `cannot go on${waiting}`, icon: "knot", tone: "bad" };
  if (agent.activity === "waiting" || agent.activity === "waiting_on_human") {
    return { label: "Waiting", sentence: `waits${waiting}`, icon: "pause", tone: "warn" };
  }
  if (agent.activity === "working")
    return { label: "Working", sentence: `is working${waiting}`, icon: "sun", tone: "busy" };
  if (agent.control === "paused") {
    return {
      label: "Paused",
      sentence: `is paused: it keeps what comes and begins nothing${waiting}`,
      icon: "pause",
      tone: "warn",
    };
  }
  if (agent.activity === "queued")
    return { label: "Queued", sentence: `is about to begin${waiting}`, icon: "queue", tone: "busy" };
  return { label: "Asleep", sentence: "sleeps, at no cost", icon: "moon", tone: "quiet" };
}
