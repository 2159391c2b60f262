import { cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { sampleAttempt, sampleRun, sampleStep } from "../api/samples";
import { Steps } from "./Steps";

afterEach(cleanup);

const attempts = [
  sampleAttempt("1", { outcome: "retrying", failure_kind: "overloaded", backoff_ms: 500 }),
  sampleAttempt("2", {
    outcome: "retries_exhausted",
    attempt: 2,
    failure_kind: "overloaded",
    advanced_to_fallback: true,
    transport_diagnostics: { stage: "connect", source_chain: ["connection refused"] },
  }),
  sampleAttempt("3", { model_ref: "anthropic/small", provider: "anthropic", cost_usd: "0.0042" }),
];
const run = sampleRun({
  steps: [
    sampleStep("1", { status: "failed", reason: "overloaded" }),
    sampleStep("2", { status: "failed", reason: "overloaded" }),
    sampleStep("3", { name: "anthropic/small" }),
  ],
  provider_attempt_timeline: { attempts, requested_model_ref: "openai/large", winning_model_ref: "anthropic/small" },
});

it("shows a round with its attempts as one step, and the fallback at a glance", () => {
  render(<Steps run={run} content={{ replies: ["Here it is."], calls: [] }} live="" />);
  expect(screen.getAllByText("Asked the model")).toHaveLength(1);
  expect(screen.getByText("fell back to anthropic/small")).toBeTruthy();
  expect(screen.getByText("“Here it is.”")).toBeTruthy();
  const lines = within(screen.getByRole("list", { name: "Attempts" }))
    .getAllByText(/^attempt/)
    .map((line) => line.textContent);
  expect(lines).toEqual(["attempt 1 of 3", "attempt 2 of 3", "attempt 1 of 3"]);
});

it("says how each attempt ended, the wait after it, its cost and its rule", () => {
  render(<Steps run={run} content={undefined} live="" />);
  const words = screen.getByRole("list", { name: "Attempts" }).textContent;
  expect(words).toContain("failed, tried againoverloaded");
  expect(words).toContain("then waited 500 ms");
  expect(words).toContain("$0.0042");
  expect(words).toContain("Asked by rule inference_gates");
});

it("is brief about a round that was answered at once", () => {
  const timeline = { attempts: [sampleAttempt("1", { cost_usd: "0.01" })], requested_model_ref: "openai/large" };
  render(
    <Steps
      run={sampleRun({ steps: [sampleStep("1")], provider_attempt_timeline: timeline })}
      content={undefined}
      live=""
    />,
  );
  expect(screen.queryByRole("list", { name: "Attempts" })).toBeNull();
  expect(screen.getByText("$0.01")).toBeTruthy();
  expect(screen.getByText("Asked by rule inference_gates — every gate before the model was open.")).toBeTruthy();
});

it("keeps what happened on the way closed", () => {
  render(<Steps run={run} content={undefined} live="" />);
  const details = screen.getByText("What happened on the way").closest("details");
  expect(details?.open).toBe(false);
  expect(details?.textContent).toContain("while connecting");
  expect(details?.textContent).toContain("connection refused");
});

it("shows a run of an older program, of whose attempts nothing was kept", () => {
  render(
    <Steps
      run={sampleRun({ steps: [sampleStep("1", { status: "failed", reason: "script_exhausted" })] })}
      content={undefined}
      live=""
    />,
  );
  expect(screen.getByText("What was wrong: script exhausted.")).toBeTruthy();
  expect(screen.queryByRole("list", { name: "Attempts" })).toBeNull();
});
