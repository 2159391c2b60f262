// Texts about policies: which are in force, and why a call is permitted, asked about or denied.
import type { PermissionMode, PolicyEffect } from "../api/types";
import { pluralize } from "../text/number";

export const policy = {
  action: "load the policies",
  category: "Category of the denial",
  change: "What would have to differ",
  changeNone: "No single change makes this verdict less strict.",
  changeTo: (change: string, verdict: string) => `With ${change}: ${verdict}.`,
  changeWithout: (change: string, verdict: string) => `Without ${change}: ${verdict}.`,
  commandComplex: "Command, which is more than one program with plain words",
  commandSimple: "Command, one program with plain words",
  effects: {
    permit: "permitted",
    ask: "needs your approval",
    deny: "denied",
  } satisfies Record<PolicyEffect, string>,
  facts: "What it was judged by",
  files: "Policy files are in these folders:",
  kinds: { permit: "permits", ask: "asks", forbid: "forbids" } as Record<string, string>,
  list: "Policies",
  listHint: (count: number) =>
    `${pluralize(count, "policy", "policies")} in force. A denial wins over a question, and a question over a permission.`,
  loading: "Loading the policies",
  mode: "Mode",
  modes: {
    permissive: "permissive: asks only where a policy or a setting requires it",
    standard: "standard: asks before actions whose effects leave the sandbox",
    restrictive: "restrictive: asks before every action",
  } satisfies Record<PermissionMode, string>,
  now: (verdict: string) => `By the policies in force now, this call is ${verdict}`,
  nowNeeds: (verdict: string) => `By the policies in force now, this call ${verdict}`,
  place: (source: string, line: number | undefined) => (line === undefined ? source : `${source}, line ${line}`),
  policies: "Policies that decided",
  problem: (file: string, line: number) => `${file}, line ${line} is refused; its last valid version stays in force:`,
  recorded: (status: string, rule: string) => `Recorded with the call: ${status}, by ${rule}.`,
  rule: "Rule",
  settings: "settings of the agent",
  showText: "Show text",
  target: "Target",
  targets: "Targets of the call",
  version: "Policy version",
  why: "Why?",
  whyAction: "explain the verdict",
  whyLoading: "Explaining the verdict",
  whyOf: (tool: string) => `Why? The verdict on ${tool}`,
  wholeCall: "The call itself",
};
