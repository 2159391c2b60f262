// Texts for the stable codes of runs, steps, verdicts and sandboxes. An unknown code is shown with spaces for underscores.
import type { Gate, RunCause, RunStatus, Step, StepStatus, WaitingFor } from "../api/types";
import { labels } from "../labels";
import { joinList } from "../text/number";
import { formatDuration } from "../text/time";

export function outcomeText(outcome: string): string {
  return labels.run.statuses[outcome] ?? humanizeCode(outcome);
}

export type Tone = "good" | "bad" | "warn" | "busy" | "quiet";

export function outcomeTone(outcome: string): Tone {
  if (outcome === "completed") return "good";
  if (outcome === "open") return "busy";
  if (outcome === "failed" || outcome === "quarantined") return "bad";
  return outcome === "out_of_rounds" ? "warn" : "quiet";
}

/** The status of a run: what an open run waits for, where it waits. */
export function runState(status: RunStatus, waitingFor?: WaitingFor): { text: string; tone: Tone } {
  if (status === "open" && waitingFor) return { text: labels.run.waiting[waitingFor], tone: "warn" };
  return { text: outcomeText(status), tone: outcomeTone(status) };
}

export function isOpen(outcome: string): boolean {
  return outcome === "open" || outcome === "queued";
}

/** Whether a run has ended, so that it can run again. */
export function isRetryable(outcome: string): boolean {
  return ["completed", "failed", "out_of_rounds", "cancelled", "abandoned"].includes(outcome);
}

const STATUS_TONES: Record<StepStatus, Tone> = {
  planned: "quiet",
  waiting_for_approval: "warn",
  intended: "busy",
  ok: "good",
  partial: "warn",
  failed: "bad",
  denied: "warn",
  outcome_unknown: "bad",
};

/** The status of a step. A command that ran and reported an error is not ok. */
export function statusText({ status, exit_status: exit }: Pick<Step, "status" | "exit_status">): {
  text: string;
  tone: Tone;
} {
  if (status === "ok" && exit) return { text: labels.step.exit(exit), tone: "warn" };
  return { text: labels.step.statuses[status], tone: STATUS_TONES[status] };
}

/** What a rule of the program means. The rule of a quota names the tool after a colon. */
export function ruleMeaning(rule: string): string | undefined {
  return labels.step.rules[rule.split(":", 1)[0] ?? rule];
}

/** Why a step could start or not, without the full stop; empty for a model round that succeeded. */
export function verdictText({ kind, reason, status }: Step): string {
  const { allowed, approved, denied, error, needsApproval, outcomeUnknown } = labels.step;
  if (status === "outcome_unknown") return outcomeUnknown;
  if (reason === "") return "";
  const known = ruleMeaning(reason);
  const meaning = known ? `: ${known}` : "";
  if (kind === "model") return error(humanizeCode(reason));
  if (status === "denied") return denied(reason, meaning);
  if (status === "failed" && !known) return error(humanizeCode(reason));
  if (status === "waiting_for_approval") return needsApproval(reason, meaning);
  return (ASKING_RULES.includes(reason) && status !== "planned" ? approved : allowed)(reason, meaning);
}

/** Rules of the program that ask a person. A call that they concern starts only after an approval. */
const ASKING_RULES = [
  "ask_tool",
  "foreign_target",
  "hook",
  "outcome_unknown_undecided",
  "restrictive_mode",
  "unclassified_tool",
];

/** Whether a call was allowed as most are, which is worth no line of its own. */
export function isOrdinary({ kind, reason, status }: Step): boolean {
  return kind === "tool" && reason === "registered_tool" && status !== "denied" && status !== "outcome_unknown";
}

/** The duration and tokens of a step. */
export function spentText({ duration_ms: durationMs, token_usage: usage }: Step): string {
  const parts = [
    durationMs === undefined ? "" : formatDuration(durationMs),
    usage.total_tokens === 0 ? "" : labels.run.tokenCount(usage.total_tokens),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Whether everything of a sandbox was enforced. */
export function isEnforced(sandbox: string): boolean {
  return sandbox.startsWith("enforced: ");
}

/** How a command was sandboxed. The server reports what the kernel enforced, so nothing is added to it. */
export function sandboxText(sandbox: string): string {
  const { enforced, notEnforced, other, partly, parts } = labels.step.sandbox;
  if (sandbox === "not_enforced") return notEnforced;
  const [known = "", missing] = sandbox.split("; not enforced: ");
  if (missing) return partly(sandboxText(known.replace(/^partly_/, "")), humanizeCode(missing));
  const [level, means] = sandbox.split(": ");
  if (level !== "enforced" || !means) return other(sandbox);
  const names = means.split("+").map((one) => (one.startsWith("landlock") ? "Landlock" : (parts[one] ?? one)));
  return enforced(joinList(names));
}

export function wakeGateText({ gate, passed }: Gate): string {
  const result = passed ? "passed" : "failed";
  return labels.wakeGates[gate]?.[result] ?? labels.wakeGate[result](humanizeCode(gate));
}

/** Why a run started, in one sentence. */
export function causeText({ kind, surface }: RunCause): string {
  const { kinds, otherKind, otherSurface, surfaces } = labels.cause;
  const what = kinds[kind] ?? otherKind(humanizeCode(kind));
  // The page and the command line both send through the API, so this surface does not tell them apart.
  if (kind === "operator_prompt" && surface === "http_control_prompt") return what;
  return `${what} ${surfaces[surface] ?? otherSurface(humanizeCode(surface))}`;
}

/** Whose instruction a message is, and how that was verified. */
export function authorityText({ authority, context }: RunCause): string {
  const { authorities, contexts } = labels.cause;
  return `${authorities[authority] ?? humanizeCode(authority)}: ${contexts[context] ?? humanizeCode(context)}`;
}

export function humanizeCode(code: string): string {
  return code.replaceAll("_", " ");
}
