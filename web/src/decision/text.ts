// Texts of decisions, and how a decision ended.
import type { BlastRadius, Decision, InputGone, Severity } from "../api/types";
import { labels } from "../labels";
import type { Tone } from "../run/text";

const TONES: Record<Severity, Tone> = {
  warning: "quiet",
  low: "quiet",
  medium: "warn",
  high: "bad",
  critical: "bad",
};

export function severityText(severity: Severity): { text: string; tone: Tone } {
  return { text: labels.decision.severities[severity], tone: TONES[severity] };
}

export function blastRadiusText(radius: BlastRadius): string {
  return labels.decision.blastRadii[radius];
}

/** How a decision ended. */
export function decisionEndText({ answer, status, options }: Decision): string {
  const { answeredBy, answeredNote, cancelled, channels, pending, withdrawn } = labels.decision;
  if (answer) {
    const label = options.find((option) => option.id === answer.option)?.label ?? answer.option;
    const note = answer.note ? answeredNote(answer.note) : "";
    return `${answeredBy(label, channels[answer.channel] ?? answer.channel)}${note}`;
  }
  if (status === "cancelled") return cancelled;
  return status === "withdrawn" ? withdrawn : pending;
}

/** What happens when the deadline passes. */
export function deadlineText(severity: Severity): string {
  return severity === "critical" ? labels.decision.deadlineCancels : labels.decision.deadlineEscalates;
}

/** Whether an option lets the action happen. */
export function isApproval(option: string): boolean {
  return option === "approve" || option === "approve_hosts";
}

/** Why the whole input of a tool cannot be shown. */
export function inputGoneText(gone: InputGone): string {
  return labels.decision.inputGone[gone];
}

/** Where to answer a decision that this page may not answer; undefined when it may. */
export function answerElsewhereText({ may_answer: channels }: Decision): string | undefined {
  if (channels.includes("page")) return undefined;
  return labels.decision.elsewhere(channels.map((channel) => labels.decision.elsewhereWays[channel]));
}
