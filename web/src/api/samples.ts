// Sample API objects for tests.
import type {
  AgentStatus,
  Attempt,
  AttentionItem,
  Budget,
  BudgetLimit,
  Decision,
  Delta,
  Event,
  EventKind,
  EventLevel,
  EventPayload,
  ModelChoice,
  ParkedReason,
  Run,
  RunSummary,
  Schedule,
  Step,
  Subscription,
  TranscriptLine,
} from "./types";

type Over<K extends EventKind> = Partial<Omit<Event, "kind" | "payload" | "erased">> & {
  kind?: K;
  payload?: { [M in keyof EventPayload<K>]?: Partial<EventPayload<K>[M]> };
  erased?: boolean;
  visibility?: EventLevel;
};

/** An event of agent `main`, with the fields that a test sets. */
export function sampleEvent<K extends EventKind = "tool_executed">(seq: number, over: Over<K> = {}): Event {
  const { visibility = "progress", ...rest } = over;
  return {
    event_id: `id-${rest.agent_id ?? "main"}-${seq}`,
    agent_id: "main",
    seq,
    at: `2026-01-01T00:00:${String(seq).padStart(2, "0")}Z`,
    kind: "tool_executed",
    presentation: {
      visibility,
      category: "tool",
      title: "Something",
      summary: `thing ${seq}`,
      source_event_kind: "tool_executed",
    },
    provenance: {},
    payload: {},
    ...rest,
  } as Event;
}

export function sampleDelta(attempt: number, chunk: number, text: string): Delta {
  return { agent_id: "main", run_key: "r", attempt, chunk, text };
}

export function sampleAgent(over: Partial<AgentStatus> = {}): AgentStatus {
  return {
    agent_id: "main",
    visibility: "public",
    lifecycle: "active",
    control: "running",
    mode: "hybrid",
    activity: "asleep",
    workspace: "/home/you",
    created_at: "2026-01-01T00:00:00Z",
    pending: 0,
    is_braked: false,
    pending_decisions: 0,
    quarantined_runs: 0,
    last_seq: 0,
    token_usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    model_rounds: 0,
    ...over,
  };
}

export function sampleLine(
  role: TranscriptLine["role"],
  blocks: TranscriptLine["blocks"],
  runKey = "r",
): TranscriptLine {
  return { run_key: runKey, role, at: "2026-01-01T00:00:00Z", blocks };
}

export function sampleBudget(over: Partial<Budget> = {}): Budget {
  return {
    day: "2026-01-01",
    next_day_at: "2026-01-02T00:00:00Z",
    daily_cap_usd: "5.00",
    cap_origin: "default",
    spent_usd: "0.31",
    reserved_usd: "0.00",
    agents: [],
    days: [],
    ...over,
  };
}

export function sampleLimit(over: Partial<BudgetLimit> = {}): BudgetLimit {
  return {
    limit_id: "990c69c2f23b",
    scope: "agent",
    subject: "main",
    resource: "tokens",
    period: "monthly",
    max: 10_000,
    used: 4_000,
    reserved: 0,
    origin: "set",
    ...over,
  };
}

export function sampleParked(over: Partial<ParkedReason> = {}): ParkedReason {
  return {
    code: "budget_exceeded",
    scope: "all",
    resource: "money",
    period: "daily",
    max: 5_000_000,
    used: 4_980_000,
    needed: 40_000,
    command: "wakeful budget set USD",
    message: "the daily cap is reached",
    hint: "raise the cap",
    ...over,
  };
}

/** A step of a model round; its attempt has the same operation id. */
export function sampleStep(operation: string, over: Partial<Step> = {}): Step {
  return {
    operation_id: operation,
    kind: "model",
    name: "openai/large",
    status: "ok",
    reason: "",
    at: "2026-01-01T00:00:00Z",
    token_usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    ...over,
  };
}

export function sampleAttempt(operation: string, over: Partial<Attempt> = {}): Attempt {
  return {
    operation_id: operation,
    provider: "openai",
    model_ref: "openai/large",
    attempt: 1,
    max_attempts: 3,
    started_at: "2026-01-01T00:00:00Z",
    completed_at: "2026-01-01T00:00:01Z",
    duration_ms: 1_000,
    outcome: "succeeded",
    advanced_to_fallback: false,
    rule: "inference_gates",
    ...over,
  };
}

export function sampleRun(over: Partial<Run> = {}): Run {
  return {
    run_key: "r",
    agent_id: "main",
    outcome: "completed",
    final_text: "",
    counts: { model_rounds: 1, tool_calls: 0, denied: 0, failed: 0, unknown: 0 },
    rounds: 1,
    tool_calls: [],
    denied: [],
    unknown: [],
    token_usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    duration_ms: 1_000,
    started_at: "2026-01-01T00:00:00Z",
    steps: [],
    ...over,
  };
}

export function sampleSubscription(over: Partial<Subscription> = {}): Subscription {
  return {
    subscription_id: "gym",
    agent_id: "coach",
    any: ["TASK", "NOTE"],
    all: [],
    cooldown_ms: 0,
    debounce_ms: 0,
    message: "plan the week",
    created_at: "2026-01-01T00:00:00Z",
    is_active: true,
    ...over,
  };
}

export function sampleDecision(over: Partial<Decision> = {}): Decision {
  return {
    decision_id: "d1",
    kind: "tool_approval",
    status: "pending",
    version: 1,
    title: "May ExecCommand be used?",
    tool: "ExecCommand",
    input: "rm -r build",
    is_input_cut: false,
    may_answer: ["cli", "api", "page"],
    options: [
      { id: "approve", label: "Approve", description: "The action is taken once." },
      { id: "deny", label: "Deny", description: "The action is not taken." },
    ],
    severity: "high",
    blast_radius: "unknown",
    rule: "ask_tool",
    badges: [],
    agent_id: "main",
    run_key: "r",
    operation_id: "o",
    asked_at: "2026-01-01T00:00:00Z",
    deadline_at: "2026-01-08T00:00:00Z",
    ...over,
  };
}

export function sampleSchedule(over: Partial<Schedule> = {}): Schedule {
  return {
    schedule_id: "daily",
    agent_id: "main",
    revision: 1,
    label: "daily",
    pattern: { interval_seconds: 86_400 },
    message: "water the beds",
    status: "active",
    concurrency: "forbid",
    allows_catch_up: false,
    auto_disable_after_run: false,
    catch_up_window_seconds: 86_400,
    max_catch_up_runs_per_tick: 1,
    always: true,
    upcoming: [],
    execution_count: 0,
    created_at: "2026-01-01T00:00:00Z",
    ...over,
  };
}

export function sampleRunSummary(over: Partial<RunSummary> = {}): RunSummary {
  return {
    run_key: "r",
    agent_id: "main",
    status: "open",
    counts: { model_rounds: 0, tool_calls: 0, denied: 0, failed: 0, unknown: 0 },
    transitions: 1,
    started_at: "2026-01-01T00:00:00Z",
    ...over,
  };
}

export function sampleModel(over: Partial<ModelChoice> = {}): ModelChoice {
  return {
    model_ref: "openai/large",
    kind: "hosted",
    is_default: false,
    is_usable: true,
    is_price_assumed: false,
    ...over,
  };
}

type FailedRuns = Extract<AttentionItem, { kind: "failed_runs" }>;

/** Two runs that failed for the same reason. */
export function sampleFailedRuns(over: Partial<FailedRuns> = {}): FailedRuns {
  return {
    kind: "failed_runs",
    agent_id: "main",
    code: "timeout",
    message: "The model did not answer in time.",
    next_steps: ["retry", "change_model"],
    count: 2,
    run_keys: ["b", "a"],
    first_at: "2026-01-01T00:00:00Z",
    last_at: "2026-01-01T00:01:00Z",
    preview: "Do it",
    ...over,
  };
}
