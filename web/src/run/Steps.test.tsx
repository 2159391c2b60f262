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

it("shows the attempts of a round as one step with its fallback", () => {
  render(<Steps run={run} content={{ replies: ["Here it is."], calls: [] }} live="" />);
  expect(screen.getAllByText("Model request")).toHaveLength(1);
  expect(screen.getByText("fell back to anthropic/small")).toBeTruthy();
  expect(screen.getByText("Here it is.")).toBeTruthy();
  const lines = within(screen.getByRole("list", { name: "Attempts" }))
    .getAllByText(/^attempt/)
    .map((line) => line.textContent);
  expect(lines).toEqual(["attempt 1 of 3", "attempt 2 of 3", "attempt 1 of 3"]);
});

it("shows end, delay, cost and rule of each attempt", () => {
  render(<Steps run={run} content={undefined} live="" />);
  const text = screen.getByRole("list", { name: "Attempts" }).textContent;
  expect(text).toContain("failed, retriedoverloaded");
  expect(text).toContain("retried after 500 ms");
  expect(text).toContain("$0.0042");
  expect(text).toContain("Allowed by rule inference_gates");
});

it("shows a round with one attempt without a list", () => {
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
  expect(screen.getByText("Allowed by rule inference_gates: all checks before the request passed.")).toBeTruthy();
});

it("keeps transport details closed", () => {
  render(<Steps run={run} content={undefined} live="" />);
  const details = screen.getByText("Transport details").closest("details");
  expect(details?.open).toBe(false);
  expect(details?.textContent).toContain("connecting");
  expect(details?.textContent).toContain("connection refused");
});

it("shows a run without recorded attempts", () => {
  render(
    <Steps
      run={sampleRun({ steps: [sampleStep("1", { status: "failed", reason: "script_exhausted" })] })}
      content={undefined}
      live=""
    />,
  );
  expect(screen.getByText("Error: script exhausted.")).toBeTruthy();
  expect(screen.queryByRole("list", { name: "Attempts" })).toBeNull();
});
