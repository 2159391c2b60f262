// Texts about runs: their status, cause, steps, attempts and faults.
import type { RunCause, RunStatus, StepStatus, WaitingFor } from "../api/types";
import { formatInteger, pluralize } from "../text/number";

export const run = {
  abandon: "Abandon run",
  agent: "Agent",
  all: "All",
  allAction: "load the runs",
  allLoading: "Loading runs",
  absorbed: "Absorbed",
  actions: (count: number) => pluralize(count, "action"),
  cancel: "Cancel run",
  cancelAction: "cancel the run",
  cancelling: "Cancelling…",
  cause: "Cause",
  causes: "Error causes, outermost first",
  checkProvider: "Check the API key",
  clearFilters: "Clear filters",
  columns: {
    message: "Message",
    status: "Status",
    agent: "Agent",
    cause: "Cause",
    started: "Started",
    duration: "Duration",
    cost: "Cost",
  },
  cost: "Cost",
  costNone: "none",
  denied: (count: number) => `${count} denied`,
  details: "Details",
  failure: "Failure",
  failureFacts: {
    kind: "Kind",
    category: "Category",
    provider: "Provider",
    model: "Model",
    status: "HTTP status",
  },
  fallbackTo: (model: string) => `fell back to ${model}`,
  filterStatuses: {
    open: "Open",
    waiting: "Waiting",
    quarantined: "Quarantined",
    completed: "Completed",
    failed: "Failed",
    out_of_rounds: "Out of rounds",
    cancelled: "Cancelled",
    abandoned: "Abandoned",
  },
  held: (hold: string) => `, held (${hold})`,
  in: (duration: string) => `in ${duration}`,
  insteadOf: (model: string) => `, instead of ${model}`,
  key: "Run key",
  linkTo: (agentId: string) => `a run of ${agentId}`,
  list: "Runs",
  listAction: "load older runs",
  loadAction: "load the run",
  loading: "Loading the run",
  model: "Model",
  none: "No runs yet. Each message starts one run.",
  noneHint: "Each message, schedule or change that wakes an agent starts one run.",
  noneFound: "No run matches",
  noneYet: "No runs yet",
  notDecided: "Not decided yet: the message is queued.",
  notRun: (verdict: string) => `Not run: ${verdict}.`,
  period: "Started in",
  periods: { hour: "the last hour", day: "the last day", week: "the last week", month: "the last 30 days" } as Record<
    string,
    string
  >,
  quarantineAction: "resume or abandon the run",
  quarantineKept: "Completed actions are kept either way.",
  quarantined: "Run quarantined",
  related: "Related runs",
  retriedBy: "Run again as",
  retries: "Runs again",
  result: "Result",
  resume: "Resume run",
  retried: "Queued again",
  retriedLink: "View the new run",
  retry: "Run again",
  retryAction: "run it again",
  failedActions: (count: number) => `${count} failed`,
  rounds: (count: number) => pluralize(count, "model round"),
  search: "Search",
  searchHint: "Words of the message, or a run key",
  showAll: "Show all runs",
  started: "Started",
  startedBy: "Started by",
  status: "Status",
  statuses: {
    queued: "Queued",
    open: "Open",
    quarantined: "Quarantined",
    completed: "Completed",
    failed: "Failed",
    out_of_rounds: "Out of rounds",
    cancelled: "Cancelled",
    abandoned: "Abandoned",
    absorbed: "Absorbed",
    replaced: "Replaced",
    refused: "Refused",
    gone: "Gone",
  } satisfies Record<RunStatus, string> as Record<string, string>,
  tabTitle: (agentId: string) => `Run of ${agentId}`,
  tokens: "Tokens",
  tokenCount: (count: number) => pluralize(count, "token"),
  unknownOutcomes: (count: number) => `${count} with unknown outcome`,
  unnamed: "a run",
  waiting: {
    approval: "Waiting for your approval",
    budget: "Waiting: daily cap reached",
    sub_runs: "Waiting for sub-runs",
    time: "Waiting for the next attempt",
    turn: "Waiting for another run",
    brake: "Held by a brake",
  } satisfies Record<WaitingFor, string>,
  unreadable: (reason: string) =>
    `The state of this run cannot be read (${reason}). The page shows what its database rows contain.`,
  workspace: "Workspace",
};

/** What a run changed in its workspace, and undoing it. */
export const changes = {
  action: "undo the changes",
  binary: "binary",
  change: { created: "Created", modified: "Modified", deleted: "Deleted" },
  diff: "Diff",
  fileCount: (count: number) => pluralize(count, "file"),
  files: "Changed files",
  lines: (added: number, removed: number) => `+${added} −${removed}`,
  loadAction: "load the changes",
  none: "The run changed no file.",
  notCovered: (count: number) => `${pluralize(count, "entry", "entries")} not covered`,
  planAction: "find out what would be restored",
  redo: "Redo changes",
  remove: "Removed",
  restore: "Restored",
  skip: "Skipped, because they were changed since",
  title: "Changes",
  truncated: "The list or the diff is incomplete. `wakeful runs diff` shows single files.",
  unavailable: (reason: string) => `Not recorded: ${reason}`,
  undo: "Undo changes",
  untilNow: "The state at the end of the run is not recorded. These are the changes until now.",
};

/** Running a run again. */
export const retry = {
  action: "run it again",
  button: "Run again",
  hint: "Sends the message again to the same agent, in the same conversation. Its attachments and options are kept.",
  model: "Model",
  modelHint: "Default: the model of the run.",
  sending: "Sending…",
  text: "Message",
  title: "Run again",
};

/** Running a run again from one of its steps; the other texts are those of running it again. */
export const retryFrom = {
  hint: "A new run begins with the conversation before this step and asks the model again. Earlier actions are not repeated, and no action is undone.",
  of: (name: string) => `Run again from here: ${name}`,
  text: "Message to add",
  title: "Run again from here",
};

export const waterfall = {
  cut: (size: string) => `Only a part is shown of ${size}.`,
  detail: (name: string) => `Input and output of ${name}`,
  input: "Input",
  noInput: "No input is stored.",
  noOutput: "No output.",
  offset: (duration: string) => `+${duration}`,
  output: "Output",
  total: (duration: string) => `${duration} in total`,
  whole: "Show everything",
  wholeAction: "load the whole step",
};

/** Why a run started: its kind, where its message came from, whose instruction it is, and how that was verified. */
export const cause = {
  kinds: {
    operator_prompt: "The operator sent a message",
    notice: "A change matched a subscription",
    timer_tick: "A schedule fired",
    hint: "An external system called the agent's trigger",
    internal_followup: "A run of another agent sent a message",
  } satisfies Record<RunCause["kind"], string> as Record<string, string>,
  shortKinds: {
    operator_prompt: "message",
    notice: "subscription",
    timer_tick: "schedule",
    hint: "external trigger",
    internal_followup: "other agent",
  } satisfies Record<RunCause["kind"], string> as Record<string, string>,
  surfaces: {
    run_once: "from the command line",
    cli_prompt: "from the command line",
    http_control_prompt: "through this page or the API",
    http_callback_wake: "through an external trigger",
    timer_scheduler: "from the scheduler",
    runtime_system: "inside this installation",
  } satisfies Record<RunCause["surface"], string> as Record<string, string>,
  authorities: {
    operator_instruction: "Counts as the operator's instruction",
    runtime_instruction: "Counts as an instruction of the runtime",
    integration_signal: "Counts as a signal of an integration",
    external_evidence: "Counts as untrusted data, not instructions",
  } satisfies Record<RunCause["authority"], string> as Record<string, string>,
  contexts: {
    local_process: "it came from a process of the same user on this machine",
    control_authenticated: "the sender had the API token or a logged-in browser",
    external_trigger_capability: "the sender had the secret URL of an external trigger",
    runtime_owned: "it was created by this installation",
  } satisfies Record<RunCause["context"], string> as Record<string, string>,
  otherKind: (kind: string) => `A message of kind “${kind}” arrived`,
  otherSurface: (surface: string) => `through “${surface}”`,
};

export const step = {
  allowed: (rule: string, meaning: string) => `Allowed by rule ${rule}${meaning}`,
  command: "Command",
  denied: (rule: string, meaning: string) => `Denied by rule ${rule}${meaning}`,
  error: (reason: string) => `Error: ${reason}`,
  inputAndOutput: "Input and output",
  isResult: "The reply is the result above.",
  modelRequest: "Model request",
  needsApproval: (rule: string, meaning: string) => `Needs approval by rule ${rule}${meaning}`,
  none: "No steps yet.",
  numbered: (number: number, name: string) => `step ${number}, ${name}`,
  outcomeUnknown: "Interrupted before its result was recorded. It may or may not have happened, and was not repeated",
  rules: {
    registered_tool: "the tool is registered and allowed in this run",
    ask_tool: "each use of this tool in this run needs approval",
    denied_agent: "this run may not start a run of this agent",
    denied_tool: "this run may not use this tool",
    unknown_tool: "the tool does not exist",
    external_cause:
      "an external trigger, a watched folder or another agent started the run, so each command needs approval",
    outcome_unknown_undecided: "the same call was interrupted earlier, and its outcome is unknown",
  } as Record<string, string>,
  sandbox: {
    enforced: (parts: string) =>
      `Sandboxed: could write only to its workspace and a private temporary folder, and connect only to allowed hosts (${parts})`,
    notEnforced: "Ran without a sandbox: the kernel of this machine does not support one",
    other: (sandbox: string) => `Sandbox: ${sandbox}`,
    partly: (enforced: string, missing: string) => `${enforced}. Not enforced: ${missing}`,
    parts: {
      seccomp: "seccomp",
      pidns: "its own process namespace",
      netns: "its own network",
      subreaper: "a supervisor process",
      cgroup: "kernel limits on processes and memory",
      "cgroup-pids": "a kernel limit on processes",
      "cgroup-memory": "a kernel limit on memory",
    } as Record<string, string>,
  },
  exit: (status: number) => `exit ${status}`,
  statuses: {
    planned: "planned",
    waiting_for_approval: "waiting for your approval",
    intended: "in progress",
    ok: "ok",
    partial: "done in part",
    failed: "failed",
    denied: "denied",
    outcome_unknown: "outcome unknown",
  } satisfies Record<StepStatus, string>,
  title: "Steps",
  tool: (name: string) => `Called ${name}`,
};

export const attempt = {
  by: (provider: string) => `by ${provider}`,
  count: (count: number) => pluralize(count, "attempt"),
  diagnostics: "Transport details",
  diagnosticNames: { stage: "stage", url: "URL", flags: "client flags" },
  fallbackTo: (model: string) => `Fell back to ${model}`,
  list: "Attempts",
  number: (attempt: number, max: number) => `attempt ${attempt} of ${max}`,
  outcomes: {
    succeeded: "succeeded",
    retrying: "failed, retried",
    retries_exhausted: "failed, retries exhausted",
    fail_fast_aborted: "failed, not retryable",
  } as Record<string, string>,
  retriedAfter: (duration: string) => `retried after ${duration}`,
  allowed: (rule: string, meaning: string) => `Allowed by rule ${rule}${meaning}`,
  blocked: (gate: string, meaning: string) => `Not sent: refused by gate ${gate}${meaning}`,
  rules: {
    inference_gates: "all checks before the request passed",
    inference_gates_implied_receipt: "all checks passed; starting this run confirmed the provider",
  } as Record<string, string>,
  gates: {
    out_of_scope: "the request is outside the scope of this agent",
    disallowed_provider_model: "this agent may not use this model",
    privacy_confirmation_required: "sending data to this provider is not confirmed",
    secret_unavailable: "its API key is not available",
    overshared_payload_blocked: "the request contains data that this provider may not receive",
  } as Record<string, string>,
  stages: {
    gate: "before sending",
    connect: "connecting",
    first_byte: "waiting for the first byte",
    body: "receiving the response",
    decode: "reading the response",
  } as Record<string, string>,
  input: (tokens: number, cache: readonly string[]) =>
    `${pluralize(tokens, "input token")}${cache.length > 0 ? ` (${cache.join(", ")})` : ""}`,
  cacheRead: (tokens: number) => `${formatInteger(tokens)} read from cache`,
  cacheWritten: (tokens: number) => `${formatInteger(tokens)} written to cache`,
  output: (tokens: number, reasoning: number) =>
    `${pluralize(tokens, "output token")}${reasoning > 0 ? ` (${formatInteger(reasoning)} reasoning)` : ""}`,
};

/** Why a run is quarantined, and what to do next. */
export const fault = {
  broken: (detail: string) => `Wakeful cannot read the stored state of this run: ${detail}`,
  crashLoop: (claims: string) => `Wakeful tried to continue this run ${claims} times without progress.`,
  lastAction: (name: string, status: string) => `Last action: ${name} (${status}).`,
  machineVersion: (machine: string, version: string) =>
    `This run needs ${machine} version ${version}, which this version of Wakeful does not support.`,
  modelRequest: (model: string) => `model request to ${model}`,
  nextStep: "Resume the run to try again, or abandon it.",
  nextSteps: {
    run_state_invalid: "Resume the run after you restore the missing data, or abandon it.",
    crash_loop: "Run `wakeful doctor` to find the cause, then resume or abandon the run.",
    machine_version_unsupported: "Resume the run with the version of Wakeful that started it, or abandon it.",
  } as Record<string, string>,
  noAction: "No action has started.",
  unknown: "This run cannot continue.",
  unknownCode: (code: string) => `This run cannot continue (${code}).`,
};

/** What follows the agent's name in a list of runs. */
export const story = {
  ended: (outcome: string) => `ended (${outcome})`,
  outcomes: {
    completed: "completed",
    failed: "failed at",
    out_of_rounds: "ran out of rounds on",
    cancelled: "was cancelled during",
    abandoned: "was abandoned during",
  } as Record<string, string>,
  received: "received",
  waitingForApproval: "waits for your approval on",
  working: "is working on",
};

export const why = {
  absorbedBy: "View the run that absorbed it",
  absorbed: (count: number) => `Absorbed wakes (${count})`,
  action: "load why the run started",
  gates: "Gates",
  title: "Why",
  tokens: "Tokens of the change:",
  waitsUntil: "Waiting until",
};

/** The checks before a run starts: what a passed and what a failed one means. */
export const wakeGates: Record<string, { passed: string; failed: string }> = {
  lifecycle: { passed: "The lifecycle of the agent allows this", failed: "The agent is not active" },
  one_run_at_a_time: { passed: "No other run of the agent was open", failed: "Another run of the agent was open" },
  brake: { passed: "No brake was on", failed: "A brake was on" },
  control: { passed: "The agent is not paused or stopped", failed: "The agent is paused or stopped" },
  mode: { passed: "The mode of the agent allows this", failed: "The mode of the agent does not allow this" },
  own_write: { passed: "The agent did not make the change itself", failed: "The agent made the change itself" },
  causal_depth: { passed: "The chain of causes is short enough", failed: "The chain of causes is too long" },
  predicate: { passed: "No predicate failed", failed: "No changed record matches the predicate" },
  guard: { passed: "No guard failed", failed: "The guard is false" },
  subscription: { passed: "No paused subscription applies", failed: "The subscription is paused" },
  work: { passed: "There is work to do", failed: "There is nothing to do" },
  sleep: { passed: "The operator overrode the sleep of the agent", failed: "The agent was put to sleep" },
  window: { passed: "No cooldown or debounce applies", failed: "Waiting for a cooldown, debounce or backoff to end" },
  queue: { passed: "The queue has room", failed: "The queue is full" },
};

export const wakeGate = {
  passed: (gate: string) => `Passed: ${gate}`,
  failed: (gate: string) => `Not passed: ${gate}`,
};

/** The conversations of an agent. */
export const thread = {
  branch: (runKey: string) => `Continued from run ${runKey}`,
  choose: "Conversation to show",
  empty: (title: string) => `${title} (new)`,
  main: "Main conversation",
  named: (name: string) => `Conversation ${name}`,
  new: "New conversation",
  open: (title: string) => `${title} (in progress)`,
  openElsewhere: (agentId: string) =>
    `${agentId} is busy with a run of another conversation. A message that you send here is queued.`,
  runElsewhere: (agentId: string) =>
    `${agentId} is busy with a run that no message of a person started. A message that you send here is queued.`,
  show: "Show that conversation",
  unnamed: "Conversation",
};

export const transcript = {
  arguments: "Arguments",
  attachment: (mediaType: string, size: string) => `${mediaType}, ${size}`,
  command: "Command",
  empty: (agentId: string) => `No messages to ${agentId} yet`,
  emptyHint: "Send a message below. The agent wakes and works in its workspace, and its actions appear here.",
  ends: {
    done: "done",
    failed: "failed",
    killed: "killed",
    ok: "ok",
    status: (status: number | undefined) => `exit status ${status}`,
    stopped: "stopped",
    timedOut: "timed out",
  },
  erased: "This message was permanently erased.",
  errorOutput: "Error output",
  hiddenThinking: "Thinking (not shown by the provider)",
  inProgress: "in progress",
  loadAction: "load the conversation",
  loading: "Loading the conversation",
  noOutput: "No output.",
  noResult: "no result",
  output: "Output",
  thinking: "Thinking",
  title: "Conversation",
  truncated: "Preview only; the model read no more than this.",
  working: (agentId: string) => `${agentId} is working…`,
};
