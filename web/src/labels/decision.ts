// Texts about decisions.
import type { BlastRadius, Decision, InputGone, Severity } from "../api/types";
import { formatInteger } from "../text/number";

export const decision = {
  answerAction: "answer the decision",
  answered: "Answered. The run continues.",
  answeredElsewhere: "Answered elsewhere.",
  answeredBy: (option: string, channel: string) => `“${option}” was chosen ${channel}.`,
  answeredNote: (note: string) => ` Note: “${note}”`,
  asked: "Asked",
  blastRadius: "Blast radius",
  blastRadii: {
    trivial: "trivial: can be undone immediately",
    small: "small: one thing",
    medium: "medium: several things",
    large: "large: much of the data",
    unknown: "unknown",
  } satisfies Record<BlastRadius, string>,
  cancelled: "Not answered before the deadline. The action was not performed.",
  channels: { page: "on the page", cli: "on the command line", api: "through the API" } as Record<string, string>,
  deadline: "Deadline",
  deadlineCancels: "then it is cancelled",
  deadlineEscalates: "then its severity rises",
  elsewhere: (ways: readonly string[]) => `This page cannot answer this decision. Answer it ${ways.join(", or ")}.`,
  elsewhereWays: {
    page: "on the page",
    api: "from a program with the API token",
    cli: "with `wakeful decision answer`",
  } satisfies Record<Decision["may_answer"][number], string>,
  diff: "Changes in files",
  input: "Arguments",
  inputAction: "load the complete arguments",
  inputCut: "Only the beginning is shown.",
  inputFetching: "Loading the rest…",
  inputGone: {
    erased: "The arguments were erased.",
    pruned: "Only the beginning is available: retention removed the rest.",
    unreadable: "Only the beginning is available: the model reply that contains the rest cannot be read.",
  } satisfies Record<InputGone, string>,
  inputWhole: (chars: number) =>
    `All ${formatInteger(chars)} characters are shown. Read to the end before you approve.`,
  note: "Note (optional)",
  noteExample: "Why, or what to do instead",
  overdue: "Overdue",
  pending: "Waiting for an answer.",
  recommended: (label: string) => `${label} (recommended)`,
  run: "Run",
  severities: {
    warning: "Warning",
    low: "Low",
    medium: "Medium",
    high: "High",
    critical: "Critical",
  } satisfies Record<Severity, string>,
  waiting: "Pending decisions",
  withdrawn: "The run ended before the decision was answered.",
};
