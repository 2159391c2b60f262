// Groups the steps of a run into model rounds and actions. Every attempt is a step of its own; the attempts that led to
// one reply are one round.

import type { Attempt, Run, Step, TokenUsage } from "../api/types";
import { dollars, isSpent, microOf, usdOf } from "../budget/money";
import { labels } from "../labels";
import { formatDuration } from "../text/time";
import { humanizeCode, type Tone } from "./text";

export interface ModelAttempt {
  step: Step;
  /** Absent while the attempt is in progress, and in runs of older versions. */
  attempt?: Attempt;
  /** The model of the next attempt, when this one was the last of its model. */
  fallbackTo?: string;
}

export type Item =
  | { kind: "round"; id: string; attempts: readonly ModelAttempt[] }
  | { kind: "action"; id: string; step: Step };

/** Groups steps: a round ends with its reply, or with the next action. */
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

/** The fallback model that replied, if the requested one did not. */
export function fallbackOf(run: Run): string | undefined {
  const timeline = run.provider_attempt_timeline;
  const last = timeline?.winning_model_ref ?? timeline?.active_model_ref;
  return timeline?.attempts.some((attempt) => attempt.advanced_to_fallback) && last !== timeline.requested_model_ref
    ? last
    : undefined;
}

const OUTCOME_TONES: Record<string, Tone> = {
  succeeded: "good",
  retrying: "warn",
  retries_exhausted: "bad",
  fail_fast_aborted: "bad",
};

/** How an attempt ended. */
export function attemptEndText({ outcome }: Attempt): { text: string; tone: Tone } {
  return {
    text: labels.attempt.outcomes[outcome] ?? humanizeCode(outcome),
    tone: OUTCOME_TONES[outcome] ?? "quiet",
  };
}

/** The rule that allowed a request or the gate that blocked it, without the full stop; empty where none is recorded. */
export function gateText(attempt: Attempt): string {
  const { rule } = attempt;
  if (rule === "") return "";
  const { allowed, blocked, gates, rules } = labels.attempt;
  const isBlocked = diagnosticsOf(attempt)?.stage === "gate" || rule in gates;
  const meaning = (isBlocked ? gates : rules)[rule];
  return (isBlocked ? blocked : allowed)(rule, meaning ? `: ${meaning}` : "");
}

/** Tokens as text; cached and reasoning tokens only where the provider counts them. */
export function tokenText(usage: TokenUsage | undefined): string {
  if (!usage || usage.total_tokens === 0) return "";
  const { cacheRead, cacheWritten, input, output } = labels.attempt;
  const read = usage.cached_read_tokens ?? 0;
  const written = usage.cached_write_tokens ?? 0;
  const cache = [read > 0 ? cacheRead(read) : "", written > 0 ? cacheWritten(written) : ""];
  const used = cache.filter((part) => part !== "");
  return `${input(usage.input_tokens, used)}, ${output(usage.output_tokens, usage.reasoning_tokens ?? 0)}`;
}

/** Duration, tokens and cost of an attempt, and the delay before the next one. */
export function attemptUsageText(attempt: Attempt): string {
  const parts = [
    formatDuration(attempt.duration_ms),
    tokenText(attempt.token_usage),
    isSpent(attempt.cost_usd) ? dollars(attempt.cost_usd) : "",
    attempt.backoff_ms === undefined ? "" : labels.attempt.retriedAfter(formatDuration(attempt.backoff_ms)),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** The cost of a round in dollars; undefined where it is zero. */
export function roundCost(attempts: readonly ModelAttempt[]): string | undefined {
  const micro = attempts.reduce((sum, { attempt }) => sum + microOf(attempt?.cost_usd), 0);
  return micro > 0 ? dollars(usdOf(micro)) : undefined;
}

/** Diagnostics of a request to a provider. The server may send fields that this page does not know. */
export interface Diagnostics {
  stage?: string;
  facts: readonly (readonly [string, string])[];
  causes: readonly string[];
}

/** Reads diagnostics; unknown fields are shown as they are. */
export function diagnosticsOf({ transport_diagnostics: diagnostics }: Attempt): Diagnostics | undefined {
  const { diagnosticNames: names, stages } = labels.attempt;
  if (typeof diagnostics !== "object" || diagnostics === null) return undefined;
  const { stage, source_chain: chain, reqwest, ...others } = diagnostics as Record<string, unknown>;
  const flags =
    typeof reqwest === "object" && reqwest !== null ? Object.entries(reqwest).filter(([, isSo]) => isSo === true) : [];
  const facts: [string, string][] = Object.entries(others).map(([name, value]) => [
    name === "url" ? names.url : humanizeCode(name),
    plain(value),
  ]);
  if (typeof stage === "string") facts.unshift([names.stage, stages[stage] ?? humanizeCode(stage)]);
  if (flags.length > 0)
    facts.push([names.flags, flags.map(([name]) => humanizeCode(name.replace(/^is_/, ""))).join(", ")]);
  return {
    stage: typeof stage === "string" ? stage : undefined,
    facts,
    causes: Array.isArray(chain) ? chain.map(plain) : [],
  };
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
