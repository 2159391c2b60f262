// Plain words for what is asked and how it ended.
import type { BlastRadius, Decision, InputGone, Severity } from "../api/types";
import type { Tone } from "../run/words";

const SEVERITIES: Record<Severity, { words: string; tone: Tone }> = {
  warning: { words: "Worth a look", tone: "quiet" },
  low: { words: "Low", tone: "quiet" },
  medium: { words: "Medium", tone: "warn" },
  high: { words: "High", tone: "bad" },
  critical: { words: "Critical", tone: "bad" },
};

export function severityWords(severity: Severity): { words: string; tone: Tone } {
  return SEVERITIES[severity];
}

const REACHES: Record<BlastRadius, string> = {
  trivial: "nothing that cannot be undone at once",
  small: "one thing",
  medium: "several things",
  large: "much of what there is",
  unknown: "nobody knows how far",
};

export function reachWords(radius: BlastRadius): string {
  return REACHES[radius];
}

const CHANNELS: Record<string, string> = { page: "on a page", cli: "on the command line", api: "through the API" };

/** How a question ended, as a sentence. */
export function endWords(decision: Decision): string {
  const { answer, status, options } = decision;
  if (answer) {
    const label = options.find((option) => option.id === answer.option)?.label ?? answer.option;
    const note = answer.note ? ` They said: “${answer.note}”` : "";
    return `Somebody answered “${label}” ${CHANNELS[answer.channel] ?? answer.channel}.${note}`;
  }
  if (status === "cancelled") return "Nobody answered in time; the action is not taken.";
  return status === "withdrawn" ? "The run ended before anybody answered." : "It waits for an answer.";
}

/** What happens when its time is over. */
export function deadlineWords(severity: Severity): string {
  return severity === "critical" ? "then it is called off" : "then it grows more severe";
}

/** The one option that lets an action happen. */
export function permits(option: string): boolean {
  return option === "approve";
}

const GONE: Record<InputGone, string> = {
  erased: "What it would be given was erased.",
  pruned: "This is only how it begins; the rest was taken away by the rules of retention.",
  unreadable: "This is only how it begins; the reply that holds the rest cannot be read.",
};

/** Why not all of what a tool would be given is there. */
export function goneWords(gone: InputGone): string {
  return GONE[gone];
}

const ELSEWHERE: Record<Decision["may_answer"][number], string> = {
  page: "on a page",
  api: "with `wakeful decision answer`, or a program that holds the token",
  cli: "with `wakeful decision answer` while no daemon runs",
};

/** Where a question is answered that takes no answer here; nothing where it does. */
export function elsewhereWords({ may_answer: ways }: Decision): string | undefined {
  if (ways.includes("page")) return undefined;
  return `This page may not answer it. It is answered ${ways.map((way) => ELSEWHERE[way]).join(", or ")}.`;
}
