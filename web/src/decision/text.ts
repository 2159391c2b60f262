// Plain words for what is asked and how it ended.
import type { BlastRadius, Decision, InputGone, Severity } from "../api/types";
import type { Tone } from "../run/text";

const SEVERITIES: Record<Severity, { text: string; tone: Tone }> = {
  warning: { text: "Worth a look", tone: "quiet" },
  low: { text: "Low", tone: "quiet" },
  medium: { text: "Medium", tone: "warn" },
  high: { text: "High", tone: "bad" },
  critical: { text: "Critical", tone: "bad" },
};

export function severityText(severity: Severity): { text: string; tone: Tone } {
  return SEVERITIES[severity];
}

const BLAST_RADII: Record<BlastRadius, string> = {
  trivial: "nothing that cannot be undone at once",
  small: "one thing",
  medium: "several things",
  large: "much of what there is",
  unknown: "nobody knows how far",
};

export function blastRadiusText(radius: BlastRadius): string {
  return BLAST_RADII[radius];
}

const CHANNELS: Record<string, string> = { page: "on a page", cli: "on the command line", api: "through the API" };

/** How a question ended, as a sentence. */
export function decisionEndText(decision: Decision): string {
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
export function deadlineText(severity: Severity): string {
  return severity === "critical" ? "then it is called off" : "then it grows more severe";
}

/** The one option that lets an action happen. */
export function isApproval(option: string): boolean {
  return option === "approve";
}

const INPUT_GONE: Record<InputGone, string> = {
  erased: "What it would be given was erased.",
  pruned: "This is only how it begins; the rest was taken away by the rules of retention.",
  unreadable: "This is only how it begins; the reply that holds the rest cannot be read.",
};

/** Why not all of what a tool would be given is there. */
export function inputGoneText(gone: InputGone): string {
  return INPUT_GONE[gone];
}

const ANSWER_CHANNELS: Record<Decision["may_answer"][number], string> = {
  page: "on a page",
  api: "with `wakeful decision answer`, or a program that holds the token",
  cli: "with `wakeful decision answer` while no daemon runs",
};

/** Where a question is answered that takes no answer here; nothing where it does. */
export function answerElsewhereText({ may_answer: ways }: Decision): string | undefined {
  if (ways.includes("page")) return undefined;
  return `This page may not answer it. It is answered ${ways.map((way) => ANSWER_CHANNELS[way]).join(", or ")}.`;
}
