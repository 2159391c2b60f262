import { expect, it } from "vitest";
import { sampleAttempt, sampleRun, sampleStep } from "../api/samples";
import type { Attempt, Step } from "../api/types";
import {
  attemptEndText,
  attemptUsageText,
  diagnosticsOf,
  fallbackOf,
  gateText,
  itemsOf,
  roundCost,
  tokenText,
} from "./round";

function played(steps: Step[], attempts: Attempt[]) {
  const winner = attempts.findLast((attempt) => attempt.outcome === "succeeded")?.model_ref;
  const timeline = {
    attempts,
    requested_model_ref: "openai/large",
    active_model_ref: attempts.at(-1)?.model_ref,
    winning_model_ref: winner,
  };
  return sampleRun({ steps, provider_attempt_timeline: timeline });
}

const failed = (operation: string) => sampleStep(operation, { status: "failed", reason: "overloaded" });
const small = { name: "anthropic/small" };
const fallenBack = played(
  [failed("1"), failed("2"), sampleStep("3", small), sampleStep("4", { kind: "tool" }), sampleStep("5", small)],
  [
    sampleAttempt("1", { outcome: "retrying", failure_kind: "overloaded", backoff_ms: 500 }),
    sampleAttempt("2", {
      outcome: "retries_exhausted",
      attempt: 2,
      failure_kind: "overloaded",
      advanced_to_fallback: true,
    }),
    sampleAttempt("3", { model_ref: "anthropic/small", provider: "anthropic", cost_usd: "0.0042" }),
    sampleAttempt("5", { model_ref: "anthropic/small", provider: "anthropic", cost_usd: "0.001" }),
  ],
);

it("puts all attempts that led to one reply into one round", () => {
  const shape = itemsOf(fallenBack).map((item) =>
    item.kind === "action" ? "action" : item.attempts.map((one) => one.step.operation_id).join(),
  );
  expect(shape).toEqual(["1,2,3", "action", "5"]);
  expect(itemsOf(sampleRun({ steps: [sampleStep("1"), sampleStep("2")] }))).toHaveLength(2);
});

it("names the fallback of a round and of the run", () => {
  const [first] = itemsOf(fallenBack);
  expect(first?.kind === "round" && first.attempts.map((one) => one.fallbackTo)).toEqual([
    undefined,
    "anthropic/small",
    undefined,
  ]);
  expect(fallbackOf(fallenBack)).toBe("anthropic/small");
  expect(fallbackOf(played([sampleStep("1")], [sampleAttempt("1")]))).toBeUndefined();
  expect(fallbackOf(sampleRun())).toBeUndefined();
});

it("shows an attempt in progress", () => {
  const [only] = itemsOf(
    played([failed("1"), sampleStep("2", { status: "intended" })], [sampleAttempt("1", { outcome: "retrying" })]),
  );
  expect(only?.kind === "round" && only.attempts.map((one) => one.attempt?.outcome)).toEqual(["retrying", undefined]);
});

it("shows rounds of older runs without attempts", () => {
  expect(itemsOf(sampleRun({ steps: [sampleStep("1")] }))).toMatchObject([
    { kind: "round", attempts: [{ attempt: undefined }] },
  ]);
});

it("sums the cost of a round", () => {
  const tries = [
    sampleAttempt("1", { cost_usd: "0.1" }),
    sampleAttempt("2", { cost_usd: "0.200001" }),
    sampleAttempt("3"),
  ];
  expect(roundCost(tries.map((attempt) => ({ step: sampleStep("x"), attempt })))).toBe("$0.300001");
  expect(roundCost([{ step: sampleStep("x") }])).toBeUndefined();
});

it("has texts for ends of attempts, known and unknown", () => {
  const end = (outcome: string) => attemptEndText(sampleAttempt("1", { outcome: outcome as Attempt["outcome"] })).text;
  expect(["succeeded", "retrying", "retries_exhausted", "fail_fast_aborted", "new_outcome"].map(end)).toEqual([
    "succeeded",
    "failed, retried",
    "failed, retries exhausted",
    "failed, not retryable",
    "new outcome",
  ]);
});

it("names the rule or gate that allowed or blocked a request", () => {
  expect(gateText(sampleAttempt("1"))).toBe("Allowed by rule inference_gates: all checks before the request passed");
  expect(gateText(sampleAttempt("1", { rule: "secret_unavailable" }))).toBe(
    "Not sent: refused by gate secret_unavailable: its API key is not available",
  );
  expect(gateText(sampleAttempt("1", { rule: "new_gate", transport_diagnostics: { stage: "gate" } }))).toBe(
    "Not sent: refused by gate new_gate",
  );
  expect(gateText(sampleAttempt("1", { rule: "new_rule" }))).toBe("Allowed by rule new_rule");
  expect(gateText(sampleAttempt("1", { rule: "" }))).toBe("");
});

it("shows cached and reasoning tokens only where they are counted", () => {
  const plain = { input_tokens: 1_200, output_tokens: 40, total_tokens: 1_240 };
  expect(tokenText(plain)).toBe("1,200 input tokens, 40 output tokens");
  expect(tokenText({ ...plain, cached_read_tokens: 1_000, cached_write_tokens: 100, reasoning_tokens: 30 })).toBe(
    "1,200 input tokens (1,000 read from cache, 100 written to cache), 40 output tokens (30 reasoning)",
  );
  expect([tokenText(undefined), tokenText({ input_tokens: 0, output_tokens: 0, total_tokens: 0 })]).toEqual(["", ""]);
});

it("shows usage of an attempt and the delay after it", () => {
  expect(attemptUsageText(sampleAttempt("1", { cost_usd: "0.0042" }))).toBe("1.0 s · $0.0042");
  expect(attemptUsageText(sampleAttempt("1", { backoff_ms: 500 }))).toBe("1.0 s · retried after 500 ms");
});

it("parses transport diagnostics and keeps unknown fields", () => {
  const transport_diagnostics = {
    stage: "first_byte",
    url: "https://example.test/v1/responses",
    status: 503,
    reqwest: { is_timeout: true, is_connect: false },
    source_chain: ["operation timed out"],
    moon: { phase: "new" },
  };
  expect(diagnosticsOf(sampleAttempt("1", { transport_diagnostics }))).toEqual({
    stage: "first_byte",
    facts: [
      ["stage", "waiting for the first byte"],
      ["URL", "https://example.test/v1/responses"],
      ["status", "503"],
      ["moon", '{"phase":"new"}'],
      ["client flags", "timeout"],
    ],
    causes: ["operation timed out"],
  });
  expect(
    [undefined, null, "x"].map((kept) => diagnosticsOf(sampleAttempt("1", { transport_diagnostics: kept }))),
  ).toEqual([undefined, undefined, undefined]);
});
