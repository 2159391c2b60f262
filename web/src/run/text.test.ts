import { expect, it } from "vitest";
import type { Step } from "../api/types";
import { causeText, runState, sandboxText, verdictText, wakeGateText } from "./text";

it("names what an open run waits for, and no ended one", () => {
  expect(runState("open", "approval").text).toBe("Waiting for your approval");
  expect(runState("open").text).toBe("Open");
  expect(runState("failed", "approval").text).toBe("Failed");
});

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

it("names the rule that allowed or denied a call", () => {
  expect(verdictText(step({}))).toBe("Allowed by rule registered_tool: the tool is registered and allowed in this run");
  expect(verdictText(step({ status: "denied", reason: "denied_tool" }))).toBe(
    "Denied by rule denied_tool: this run may not use this tool",
  );
  expect(verdictText(step({ status: "denied", reason: "tool_quota_exceeded:ExecCommand" }))).toBe(
    "Denied by rule tool_quota_exceeded:ExecCommand: the uses that the quota of the agent allows for this tool are used up",
  );
});

it("says that a planned call needs approval until it has one", () => {
  const rule = "rule ask_tool: each use of this tool in this run needs approval";
  expect(verdictText(step({ status: "waiting_for_approval", reason: "ask_tool" }))).toBe(`Needs approval by ${rule}`);
  expect(verdictText(step({ status: "ok", reason: "ask_tool" }))).toBe(`Approved by you; it was asked by ${rule}`);
  expect(verdictText(step({ status: "intended", reason: "foreign_target" }))).toMatch(
    /^Approved by you; it was asked by rule foreign_target: the run has read untrusted data/,
  );
  expect(verdictText(step({ status: "planned" }))).toMatch(/^Allowed by rule registered_tool/);
});

it("shows the reason of a failure as an error", () => {
  expect(verdictText(step({ status: "failed", reason: "timed_out" }))).toBe("Error: timed out");
});

it("shows an unknown outcome", () => {
  expect(verdictText(step({ status: "outcome_unknown" }))).toContain("may or may not have happened");
});

it("says how a command was sandboxed", () => {
  expect(sandboxText("enforced: landlock-abi7+seccomp+pidns")).toBe(
    "Sandboxed: could write only to its workspace and a private temporary folder, and connect only to allowed hosts " +
      "(Landlock, seccomp and its own process namespace)",
  );
  const part = sandboxText("partly_enforced: landlock-abi7+seccomp+subreaper; not enforced: metadata, process_count");
  expect(part).toMatch(/^Sandboxed: .*\. Not enforced: metadata, process count$/);
  expect(sandboxText("enforced: landlock-abi7+seccomp+pidns+cgroup")).toContain(
    "kernel limits on processes and memory",
  );
  expect(sandboxText("not_enforced")).toContain("without a sandbox");
  expect(sandboxText("something new")).toBe("Sandbox: something new");
});

it("has texts for gates and causes, known and unknown", () => {
  expect(wakeGateText({ gate: "lifecycle", passed: true })).toBe("The lifecycle of the agent allows this");
  expect(wakeGateText({ gate: "subscription", passed: false })).toBe("The subscription is paused");
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
  expect(causeText(cause)).toBe("You sent it from the command line");
  // The command line sends through the API, too.
  expect(causeText({ ...cause, surface: "http_control_prompt" })).toBe("You sent it");
});
