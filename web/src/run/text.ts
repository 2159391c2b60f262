// Plain words for the stable codes of runs, steps, verdicts and isolation. A code that is not known here is shown as it is.
import type { Gate, RunCause, Step, StepStatus } from "../api/types";
import { joinList } from "../text/number";

const OUTCOMES: Record<string, string> = {
  open: "Working",
  queued: "Waiting for its turn",
  completed: "Done",
  failed: "Failed",
  out_of_rounds: "Ran out of rounds",
  cancelled: "Stopped",
  quarantined: "Set aside",
  abandoned: "Given up",
};

export function outcomeText(outcome: string): string {
  return OUTCOMES[outcome] ?? humanizeCode(outcome);
}

export type Tone = "good" | "bad" | "warn" | "busy" | "quiet";

export function outcomeTone(outcome: string): Tone {
  if (outcome === "completed") return "good";
  if (outcome === "open") return "busy";
  if (outcome === "failed" || outcome === "quarantined") return "bad";
  return outcome === "out_of_rounds" ? "warn" : "quiet";
}

export function isOpen(outcome: string): boolean {
  return outcome === "open" || outcome === "queued";
}

const STATUSES: Record<StepStatus, { text: string; tone: Tone }> = {
  planned: { text: "planned", tone: "quiet" },
  intended: { text: "in progress", tone: "busy" },
  ok: { text: "ok", tone: "good" },
  failed: { text: "failed", tone: "bad" },
  denied: { text: "denied", tone: "warn" },
  outcome_unknown: { text: "outcome unknown", tone: "bad" },
};

export function statusText(status: StepStatus): { text: string; tone: Tone } {
  return STATUSES[status];
}

const RULES: Record<string, string> = {
  registered_tool: "the tool is registered, and nothing forbids it in this run",
  denied_tool: "this run may not use this tool",
  unknown_tool: "there is no such tool",
  outside_cause:
    "something other than you caused this run (a webhook, a watched folder or another agent), so it asks before each command",
  outcome_unknown_undecided: "the same call was cut off earlier, and nobody knows whether it happened",
};

/** Why a step could begin or could not, as a sentence without its full stop; empty for a model round that went well. */
export function verdictText(step: Step): string {
  const { reason, status } = step;
  const meaning = RULES[reason] ? ` — ${RULES[reason]}` : "";
  if (status === "outcome_unknown") {
    return "It was cut off between its beginning and its result. It may or may not have happened, and was not repeated";
  }
  if (step.kind === "model") return reason === "" ? "" : `What was wrong: ${humanizeCode(reason)}`;
  if (reason === "") return "";
  if (status === "denied") return `Denied by rule ${reason}${meaning}`;
  if (status === "failed" && !RULES[reason]) return `What was wrong: ${humanizeCode(reason)}`;
  return `Allowed by rule ${reason}${meaning}`;
}

const SANDBOX_PARTS: Record<string, string> = {
  seccomp: "seccomp",
  pidns: "a process namespace of its own",
  subreaper: "a supervisor process",
  cgroup: "kernel limits on processes and memory",
  "cgroup-pids": "a kernel limit on processes",
  "cgroup-memory": "a kernel limit on memory",
};

/** How a command was confined. The level is what the kernel really enforced, so it is never guessed at. */
export function sandboxText(sandbox: string): string {
  if (sandbox === "not_enforced") return "Ran without confinement: this machine's kernel cannot";
  const [known = "", open] = sandbox.split("; not enforced: ");
  if (open) return `${sandboxText(known.replace(/^partly_/, ""))}. Not enforced: ${open.replaceAll("_", " ")}`;
  const [level, means] = sandbox.split(": ");
  if (level !== "enforced" || !means) return `Isolation: ${sandbox}`;
  const names = means.split("+").map((one) => (one.startsWith("landlock") ? "Landlock" : (SANDBOX_PARTS[one] ?? one)));
  return `Ran confined: it could write only in its workspace and a private temporary folder, and had no network (${joinList(names)})`;
}

const GATES: Record<string, { passed: string; held: string }> = {
  lifecycle: { passed: "The agent is active", held: "The agent is not active" },
  one_run_at_a_time: { passed: "No other run of the agent was open", held: "Another run of the agent was open" },
  brake: { passed: "No brake held the agent", held: "A brake held the agent" },
  control: { passed: "The agent is not paused", held: "The agent is paused" },
  mode: { passed: "Its mode allows this", held: "Its mode does not allow this" },
  own_write: { passed: "Somebody else made the change", held: "The agent made the change itself" },
  causal_depth: { passed: "Few acts of agents precede it", held: "Too many acts of agents precede it" },
  predicate: {
    passed: "The record is as the subscription wants it",
    held: "The record is not as the subscription wants it",
  },
  guard: { passed: "The guard holds", held: "The guard does not hold" },
  subscription: { passed: "No subscription that is put aside asked for it", held: "The subscription is put aside" },
  work: { passed: "There is something to do", held: "There is nothing to do" },
  sleep: { passed: "A person passed the sleep barrier", held: "The agent sleeps" },
  window: { passed: "No window holds it", held: "It waits for a window to end" },
  queue: { passed: "There is room in line", held: "There is no room in line" },
};

export function wakeGateText({ gate, passed }: Gate): string {
  const known = GATES[gate];
  if (known) return passed ? known.passed : known.held;
  return passed ? `Passed: ${humanizeCode(gate)}` : `Not passed: ${humanizeCode(gate)}`;
}

const KINDS: Record<string, string> = {
  operator_prompt: "Somebody sent a message",
  internal_followup: "A run of another agent sent a message",
};

const SURFACES: Record<string, string> = {
  http_control_prompt: "through this page or the API",
  run_once: "from the command line",
  runtime_system: "inside this installation",
};

/** Why a run began, in one sentence. */
export function causeText(cause: RunCause): string {
  const what = KINDS[cause.kind] ?? `A message of the kind “${humanizeCode(cause.kind)}” came`;
  return `${what} ${SURFACES[cause.surface] ?? `by way of “${humanizeCode(cause.surface)}”`}`;
}

const AUTHORITIES: Record<string, string> = {
  operator_instruction: "It counts as the operator's own instruction",
  runtime_instruction: "It is no word of a person",
};

const CONTEXTS: Record<string, string> = {
  control_authenticated: "whoever sent it showed this installation's token or a logged-in browser",
  runtime_owned: "it was made by this installation itself",
  local_process: "it came from a process of the same user on this machine",
};

/** Whose word a message was, and how that is known. */
export function authorityText({ authority, context }: RunCause): string {
  return `${AUTHORITIES[authority] ?? humanizeCode(authority)}: ${CONTEXTS[context] ?? humanizeCode(context)}`;
}

export function humanizeCode(code: string): string {
  return code.replaceAll("_", " ");
}
