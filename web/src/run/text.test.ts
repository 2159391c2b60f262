import { expect, it } from "vitest";
import type { Step } from "../api/types";
import { causeText, sandboxText, verdictText, wakeGateText } from "./text";

const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
const step = (over: Partial<Step>): Step => ({
  operation_id: "o",
  kind: "tool",
  name: "ExecCommand",
  status: "ok",
  reason: "registered_tool",
  at: "2026-01-01T00:00:00Z",
  token_usage: usage,
  ...over,
});

it("says by which rule a call was allowed or denied", () => {
  expect(verdictText(step({}))).toBe(
    "Allowed by rule registered_tool — the tool is registered, and nothing forbids it in this run",
  );
  expect(verdictText(step({ status: "denied", reason: "denied_tool" }))).toBe(
    "Denied by rule denied_tool — this run may not use this tool",
  );
});

it("does not call what went wrong a rule", () => {
  expect(verdictText(step({ status: "failed", reason: "timed_out" }))).toBe("What was wrong: timed out");
});

it("admits that nobody knows", () => {
  expect(verdictText(step({ status: "outcome_unknown" }))).toContain("may or may not have happened");
});

it("says how a command was confined, and that it was not", () => {
  expect(sandboxText("enforced: landlock-abi7+seccomp+pidns")).toBe(
    "Ran confined: it could write only in its workspace and a private temporary folder, and had no network " +
      "(Landlock, seccomp and a process namespace of its own)",
  );
  const part = sandboxText("partly_enforced: landlock-abi7+seccomp+subreaper; not enforced: metadata, process_count");
  expect(part).toMatch(/^Ran confined: .*\. Not enforced: metadata, process count$/);
  expect(sandboxText("enforced: landlock-abi7+seccomp+pidns+cgroup")).toContain(
    "kernel limits on processes and memory",
  );
  expect(sandboxText("not_enforced")).toContain("without confinement");
  expect(sandboxText("something new")).toBe("Isolation: something new");
});

it("has words for gates and causes, and shows those it does not know", () => {
  expect(wakeGateText({ gate: "lifecycle", passed: true })).toBe("The agent is active");
  expect(wakeGateText({ gate: "subscription", passed: false })).toBe("The subscription is put aside");
  expect(wakeGateText({ gate: "moon_phase", passed: false })).toBe("Not passed: moon phase");
  const cause = {
    kind: "operator_prompt" as const,
    authority: "operator_instruction" as const,
    surface: "run_once" as const,
    context: "local_process" as const,
    admitted_at: "",
    text: "",
    priority: "normal" as const,
    correlation_id: "",
    gates: [],
  };
  expect(causeText(cause)).toBe("Somebody sent a message from the command line");
});
