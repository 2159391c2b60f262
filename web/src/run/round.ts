// The steps of a run as rounds: every attempt at a model is a step of its own, and those that led to one reply belong
// together.
import type { Attempt, Run, Step, TokenUsage } from "../api/types";
import { dollars, isSpent, microOf, usdOf } from "../budget/money";
import { formatInteger, pluralize } from "../text/number";
import { formatDuration } from "../text/time";
import { humanizeCode, type Tone } from "./text";

export interface ModelAttempt {
  step: Step;
  /** Absent while it is under way, and where nothing was kept of it. */
  attempt?: Attempt;
  /** The model that was asked next because this one gave out. */
  fallbackTo?: string;
}

export type Item =
  | { kind: "round"; id: string; attempts: readonly ModelAttempt[] }
  | { kind: "action"; id: string; step: Step };

/** Groups steps: a round goes on until it is answered or something else is done. */
export function itemsOf({ steps, provider_attempt_timeline: timeline }: Run): Item[] {
  const attempts = new Map(timeline?.attempts.map((attempt) => [attempt.operation_id, attempt]));
  const items: Item[] = [];
  let open: ModelAttempt[] | undefined;
  for (const step of steps) {
    if (step.kind !== "model") {
      open = undefined;
      items.push({ kind: "action", id: step.operation_id, step });
      continue;
    }
    const before = open?.at(-1);
    if (before?.attempt?.advanced_to_fallback) before.fallbackTo = step.name;
    const one: ModelAttempt = { step, attempt: attempts.get(step.operation_id) };
    if (open) open.push(one);
    else {
      open = [one];
      items.push({ kind: "round", id: step.operation_id, attempts: open });
    }
    if (step.status === "ok") open = undefined;
  }
  return items;
}

/** The model that answers in the place of the one that was asked for, if it is another. */
export function fallbackOf(run: Run): string | undefined {
  const timeline = run.provider_attempt_timeline;
  const last = timeline?.winning_model_ref ?? timeline?.active_model_ref;
  return timeline?.attempts.some((attempt) => attempt.advanced_to_fallback) && last !== timeline.requested_model_ref
    ? last
    : undefined;
}

const OUTCOMES: Record<string, { text: string; tone: Tone }> = {
  succeeded: { text: "answered", tone: "good" },
  retrying: { text: "failed, tried again", tone: "warn" },
  retries_exhausted: { text: "failed, given up", tone: "bad" },
  fail_fast_aborted: { text: "failed for good", tone: "bad" },
};

/** How an attempt ended. */
export function attemptEndText({ outcome }: Attempt): { text: string; tone: Tone } {
  return OUTCOMES[outcome] ?? { text: humanizeCode(outcome), tone: "quiet" };
}

const RULES: Record<string, string> = {
  inference_gates: "every gate before the model was open",
  inference_gates_implied_receipt: "every gate was open; asking for this run confirmed its provider",
};

const GATES: Record<string, string> = {
  out_of_scope: "what it was asked for is not this agent's business",
  disallowed_provider_model: "this agent may not ask this model",
  privacy_confirmation_required: "nobody has confirmed that this provider may be shown the agent's work",
  secret_unavailable: "its key cannot be had",
  overshared_payload_blocked: "the request shows something that this provider may not see",
};

/** Under which rule the model was asked, or which gate stayed shut, without the full stop; empty where nothing is kept. */
export function gateText(attempt: Attempt): string {
  const { rule } = attempt;
  if (rule === "") return "";
  const isShut = diagnosticsOf(attempt)?.stage === "gate" || rule in GATES;
  if (isShut) return `Nothing was sent: gate ${rule} stayed shut${GATES[rule] ? ` — ${GATES[rule]}` : ""}`;
  return `Asked by rule ${rule}${RULES[rule] ? ` — ${RULES[rule]}` : ""}`;
}

/** Tokens in words; what was cached or thought is named only where somebody counted it. */
export function tokenText(usage: TokenUsage | undefined): string {
  if (!usage || usage.total_tokens === 0) return "";
  const read = usage.cached_read_tokens ?? 0;
  const written = usage.cached_write_tokens ?? 0;
  const thought = usage.reasoning_tokens ?? 0;
  const asked = [
    read > 0 && `${formatInteger(read)} from the cache`,
    written > 0 && `${formatInteger(written)} to the cache`,
  ].filter(Boolean);
  return (
    `${pluralize(usage.input_tokens, "token")} asked${asked.length > 0 ? ` (${asked.join(", ")})` : ""}, ` +
    `${formatInteger(usage.output_tokens)} answered${thought > 0 ? ` (${formatInteger(thought)} of them thought)` : ""}`
  );
}

/** What an attempt took, in a few words. */
export function attemptUsageText(attempt: Attempt): string {
  const parts = [
    formatDuration(attempt.duration_ms),
    tokenText(attempt.token_usage),
    isSpent(attempt.cost_usd) ? dollars(attempt.cost_usd) : "",
    attempt.backoff_ms === undefined ? "" : `then waited ${formatDuration(attempt.backoff_ms)}`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** What a whole round cost, in dollars; nothing where it cost nothing. */
export function roundCost(tries: readonly ModelAttempt[]): string | undefined {
  const micro = tries.reduce((sum, { attempt }) => sum + microOf(attempt?.cost_usd), 0);
  return micro > 0 ? dollars(usdOf(micro)) : undefined;
}

/** What happened on the way to a provider. The server may say more than this page knows. */
export interface Diagnostics {
  stage?: string;
  facts: readonly (readonly [string, string])[];
  causes: readonly string[];
}

const STAGES: Record<string, string> = {
  gate: "before anything was sent",
  connect: "while connecting",
  first_byte: "while waiting for the first byte",
  body: "while the answer came in",
  decode: "while the answer was read",
};

/** Reads diagnostics as far as they can be read. */
export function diagnosticsOf({ transport_diagnostics: diagnostics }: Attempt): Diagnostics | undefined {
  if (typeof diagnostics !== "object" || diagnostics === null) return undefined;
  const { stage, source_chain: chain, reqwest, ...others } = diagnostics as Record<string, unknown>;
  const flags =
    typeof reqwest === "object" && reqwest !== null ? Object.entries(reqwest).filter(([, isSo]) => isSo === true) : [];
  const facts: [string, string][] = Object.entries(others).map(([name, value]) => [
    name === "url" ? "address" : humanizeCode(name),
    plain(value),
  ]);
  if (typeof stage === "string") facts.unshift(["where", STAGES[stage] ?? humanizeCode(stage)]);
  if (flags.length > 0)
    facts.push(["what the client says", flags.map(([name]) => humanizeCode(name.replace(/^is_/, ""))).join(", ")]);
  return {
    stage: typeof stage === "string" ? stage : undefined,
    facts,
    causes: Array.isArray(chain) ? chain.map(plain) : [],
  };
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
