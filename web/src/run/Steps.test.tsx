import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleAttempt, sampleRun, sampleStep } from "../api/samples";
import { Steps } from "./Steps";

afterEach(cleanup);

function show(children: ReactNode): void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  render(<QueryClientProvider client={client}>{children}</QueryClientProvider>);
}

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
    sampleStep("3", { name: "anthropic/small", output: { text: "Here it is.", bytes: 11 } }),
  ],
  provider_attempt_timeline: { attempts, requested_model_ref: "openai/large", winning_model_ref: "anthropic/small" },
});

it("shows the attempts of a round as one step with its fallback", () => {
  show(<Steps run={run} live="" />);
  expect(screen.getAllByText("Model request")).toHaveLength(1);
  expect(screen.getByText("fell back to anthropic/small")).toBeTruthy();
  expect(screen.getByText("Here it is.")).toBeTruthy();
  const lines = within(screen.getByRole("list", { name: "Attempts" }))
    .getAllByText(/^attempt/)
    .map((line) => line.textContent);
  expect(lines).toEqual(["attempt 1 of 3", "attempt 2 of 3", "attempt 1 of 3"]);
});

it("shows end, delay, cost and rule of each attempt", () => {
  show(<Steps run={run} live="" />);
  const text = screen.getByRole("list", { name: "Attempts" }).textContent;
  expect(text).toContain("failed, retriedoverloaded");
  expect(text).toContain("retried after 500 ms");
  expect(text).toContain("$0.0042");
  expect(text).not.toContain("inference_gates");
});

it("shows a round with one attempt without a list", () => {
  const timeline = { attempts: [sampleAttempt("1", { cost_usd: "0.01" })], requested_model_ref: "openai/large" };
  show(<Steps run={sampleRun({ steps: [sampleStep("1")], provider_attempt_timeline: timeline })} live="" />);
  expect(screen.queryByRole("list", { name: "Attempts" })).toBeNull();
  expect(screen.getByText(/\$0\.01$/)).toBeTruthy();
  const rule = screen.getByText("Allowed by rule inference_gates: all checks before the request passed.");
  expect(rule.closest("details")?.open).toBe(false);
});

it("keeps transport details closed", () => {
  show(<Steps run={run} live="" />);
  const details = screen.getByText("Transport details").closest("details");
  expect(details?.open).toBe(false);
  expect(details?.textContent).toContain("connecting");
  expect(details?.textContent).toContain("connection refused");
});

it("shows a run without recorded attempts", () => {
  show(
    <Steps run={sampleRun({ steps: [sampleStep("1", { status: "failed", reason: "script_exhausted" })] })} live="" />,
  );
  expect(screen.getByText("Error: script exhausted.")).toBeTruthy();
  expect(screen.queryByRole("list", { name: "Attempts" })).toBeNull();
});

const call = (over = {}) =>
  sampleStep("1", {
    kind: "tool",
    name: "ExecCommand",
    reason: "registered_tool",
    input: { text: JSON.stringify({ cmd: "ls beds" }), bytes: 18 },
    output: { text: "beans\u001b[31m\u0007", bytes: 12 },
    ...over,
  });

it("an ordinary step shows its rule and its sandbox only when it is opened", () => {
  show(<Steps run={sampleRun({ steps: [call({ sandbox: "enforced: landlock-abi7+seccomp" })] })} live="" />);
  expect(screen.getByText("Sandboxed")).toBeTruthy();
  expect(document.body.textContent).not.toMatch(/registered_tool|Landlock/);
  const details = screen.getByText("Input and output").closest("details") as HTMLDetailsElement;
  details.open = true;
  fireEvent(details, new Event("toggle"));
  expect(document.body.textContent).toMatch(/Allowed by rule registered_tool/);
  expect(document.body.textContent).toMatch(/Landlock/);
});

it("a step that was denied or not confined says so at once", () => {
  const denied = call({ status: "denied", reason: "denied_tool", sandbox: "not_enforced" });
  show(<Steps run={sampleRun({ steps: [denied] })} live="" />);
  expect(screen.getByText("Denied by rule denied_tool: this run may not use this tool.")).toBeTruthy();
  expect(screen.getByText(/Ran without a sandbox/)).toBeTruthy();
});

it("an opened action shows its input beside its output", () => {
  show(<Steps run={sampleRun({ steps: [call()] })} live="" />);
  expect(screen.queryByRole("group", { name: "Input and output of ExecCommand" })).toBeNull();
  const details = screen.getByText("Input and output").closest("details") as HTMLDetailsElement;
  details.open = true;
  fireEvent(details, new Event("toggle"));
  const shown = screen.getByRole("group", { name: "Input and output of ExecCommand" }).textContent;
  expect(shown).toContain("ls beds");
  expect(shown).toContain("beans␇");
});

it("an opened command shows its sandbox, its connections and what to look at", () => {
  const connection = { host: "example.com", port: 443, verdict: "refused" as const, reason: "not on the list" };
  const step = call({
    confinement: { network: "enforced", path: "partly_enforced", write: "not_enforced" },
    connections: [{ ...connection, count: 2, sent_bytes: 0, received_bytes: 1_500 }],
    findings: ["new Git hook .git/hooks/post-commit"],
  });
  show(<Steps run={sampleRun({ steps: [step] })} live="" />);
  const details = screen.getByText("Input and output").closest("details") as HTMLDetailsElement;
  details.open = true;
  fireEvent(details, new Event("toggle"));
  const shown = screen.getByRole("group", { name: "Input and output of ExecCommand" });
  const lines = within(shown).getAllByRole("term");
  expect(lines.map((line) => `${line.textContent}: ${line.nextSibling?.textContent}`)).toEqual([
    "Reading files: partly enforced",
    "Writing files: not enforced",
    "Network: enforced",
  ]);
  expect(shown.textContent).toContain(
    "example.com:443 refused not on the list 2 connections, 0 bytes sent, 1.5 kB received",
  );
  expect(shown.textContent).toContain("new Git hook .git/hooks/post-commit");
});

it("asks why for each call, and not for model requests", () => {
  show(<Steps run={sampleRun({ steps: [sampleStep("1"), call({ operation_id: "2" })] })} live="" />);
  expect(screen.getAllByText("Why?")).toHaveLength(1);
});

it("the steps of a sub-run follow the call that started it", async () => {
  const link = { agent_id: "other", run_key: "c1", status: "completed" as const };
  const child = sampleRun({ run_key: "c1", agent_id: "other", steps: [call({ operation_id: "2" })] });
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(child)));
  show(<Steps run={sampleRun({ steps: [call({ name: "StartRun" })], children: [link] })} live="" />);
  const nested = await screen.findByRole("group", { name: "a run of other" });
  expect(within(nested).getAllByRole("listitem")).toHaveLength(1);
});

it("offers to run again from each step of an ended run", () => {
  const steps = [sampleStep("1"), call({ operation_id: "2" })];
  show(<Steps run={sampleRun({ outcome: "completed", steps })} live="" />);
  expect(screen.getAllByRole("button", { name: /^Run again from here: step/ })).toHaveLength(2);
  cleanup();
  show(<Steps run={sampleRun({ outcome: "open", steps })} live="" />);
  expect(screen.queryByRole("button", { name: /^Run again from here/ })).toBeNull();
});
