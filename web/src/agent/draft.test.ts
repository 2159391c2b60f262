import { expect, it } from "vitest";
import {
  agentErrors,
  byteCount,
  CAPABILITIES,
  createAgentOf,
  EMPTY_AGENT,
  inOrder,
  setAgentSettingsOf,
  toolNames,
} from "./draft";
import { quotaDraftsOf, withQuota } from "./quotaDraft";
import { type SandboxDraft, sandboxDraftOf } from "./sandboxDraft";

it("requires a name and nothing else", () => {
  expect(Object.keys(agentErrors(EMPTY_AGENT))).toEqual(["name"]);
  expect(agentErrors({ ...EMPTY_AGENT, name: "gardener" })).toEqual({});
  expect(agentErrors({ ...EMPTY_AGENT, name: "Gardener" })).toHaveProperty("name");
  expect(createAgentOf({ ...EMPTY_AGENT, name: "gardener" }, { name: "gardener" })).toEqual({
    agent_id: "gardener",
    visibility: "public",
  });
});

it("checks limits where they are typed", () => {
  const draft = { ...EMPTY_AGENT, name: "gardener" };
  expect(agentErrors({ ...draft, dailyUsd: "2,50" })).toHaveProperty("dailyUsd");
  expect(agentErrors({ ...draft, maxRounds: "0" })).toHaveProperty("maxRounds");
  expect(agentErrors({ ...draft, categories: [] })).toHaveProperty("categories");
  expect(agentErrors({ ...draft, instructions: "ä".repeat(16_385) })).toHaveProperty("instructions");
  expect(agentErrors({ ...draft, instructions: "ä".repeat(16_384) })).not.toHaveProperty("instructions");
  expect(byteCount("ä")).toBe(2);
});

it("sends what changed, and null for what became empty", () => {
  const changes = { description: " Waters. ", model: "", maxRounds: "20", askTools: ["ExecCommand"], denyTools: [] };
  expect(setAgentSettingsOf({ ...changes, fallbacks: "a/b, c/d", instructions: "  two\n" })).toEqual({
    description: "Waters.",
    instructions: "  two\n",
    model: null,
    fallbacks: ["a/b", "c/d"],
    max_rounds: 20,
    ask_tools: ["ExecCommand"],
    deny_tools: null,
  });
});

it("replaces the sandbox as a whole, and resets an empty one", () => {
  const settings = { allowed_hosts: ["a.example"], published_ports: [80], allowed_secrets: ["DEPLOY_TOKEN"] };
  const sandbox = sandboxDraftOf(settings);
  expect(setAgentSettingsOf({ sandbox: { ...sandbox, readable_paths: " /a \n\n/b\n/a" } })).toEqual({
    sandbox: { readable_paths: ["/a", "/b"], ...settings },
  });
  expect(
    setAgentSettingsOf({ sandbox: { ...sandbox, allowed_hosts: "", published_ports: " ", allowed_secrets: "" } }),
  ).toEqual({
    sandbox: null,
  });
});

it("checks paths, ports and secrets of the sandbox where they are typed", () => {
  const errorsOf = (change: Partial<SandboxDraft>) =>
    Object.keys(agentErrors({ ...EMPTY_AGENT, name: "a", sandbox: { ...EMPTY_AGENT.sandbox, ...change } }));
  expect(errorsOf({ writable_paths: "out" })).toEqual(["writable_paths"]);
  expect(errorsOf({ published_ports: "80\n65536" })).toEqual(["published_ports"]);
  expect(errorsOf({ denied_hosts: Array.from({ length: 65 }, (_, index) => `h${index}`).join("\n") })).toEqual([
    "denied_hosts",
  ]);
  expect(errorsOf({ allowed_secrets: "DEPLOY_TOKEN\n_KEY2" })).toEqual([]);
  for (const wrong of ["deploy_token", "2FA", "A-B", "A".repeat(65)])
    expect(errorsOf({ allowed_secrets: `DEPLOY_TOKEN\n${wrong}` })).toEqual(["allowed_secrets"]);
  expect(errorsOf({ writable_paths: "/out", published_ports: "8080", unprotected_paths: ".git/hooks" })).toEqual([]);
});

it("sends the limits of tools that have any, and null without limits", () => {
  const saved = quotaDraftsOf({
    WriteFile: { max_per_session: 2 },
    ExecCommand: { max_per_day: 5, max_per_session: null },
  });
  expect(setAgentSettingsOf({ toolQuotas: withQuota(saved, "ExecCommand", { perSession: " 3 " }) })).toEqual({
    tool_quotas: { ExecCommand: { max_per_day: 5, max_per_session: 3 }, WriteFile: { max_per_session: 2 } },
  });
  const none = withQuota(withQuota(saved, "ExecCommand", { perDay: " " }), "WriteFile", { perSession: "" });
  expect(setAgentSettingsOf({ toolQuotas: none })).toEqual({ tool_quotas: null });
});

it("sees no change when a limit is undone", () => {
  const saved = quotaDraftsOf({ WriteFile: { max_per_day: 2 }, ExecCommand: { max_per_day: 5 } });
  const changed = withQuota(withQuota(saved, "ExecCommand", { perDay: "" }), "ReadFile", { perDay: "1" });
  const undone = withQuota(withQuota(changed, "ReadFile", { perDay: "" }), "ExecCommand", { perDay: "5" });
  expect(JSON.stringify(undone)).toBe(JSON.stringify(saved));
});

it("names the tools with limits that are not valid", () => {
  const errorOf = (toolQuotas: typeof EMPTY_AGENT.toolQuotas) =>
    agentErrors({ ...EMPTY_AGENT, name: "a", toolQuotas }).toolQuotas;
  const valid = { perDay: "1000000", perSession: "" };
  expect(errorOf({ ReadFile: valid })).toBeUndefined();
  for (const wrong of ["0", "1000001", "1.5", "-1", "ten"])
    expect(errorOf({ ReadFile: valid, ExecCommand: { perDay: "", perSession: wrong } })).toBe(
      "Enter whole numbers from 1 to 1,000,000, or nothing, for ExecCommand.",
    );
  const many = Array.from({ length: 65 }, (_, index) => [`Tool${index}`, valid]);
  expect(errorOf(Object.fromEntries(many))).toBe("Limit at most 64 tools.");
});

it("offers tools that only a limit names", () => {
  const values = { ...EMPTY_AGENT, denyTools: ["Gone"], toolQuotas: { Older: { perDay: "1", perSession: "" } } };
  expect(toolNames(values, ["ReadFile"])).toEqual(["ReadFile", "Gone", "Older"]);
});

it("sends the web search when it is on, and null for off", () => {
  expect(setAgentSettingsOf({ webSearch: "on" })).toEqual({ web_search: true });
  expect(setAgentSettingsOf({ webSearch: "" })).toEqual({ web_search: null });
});

it("sends some capabilities in one order, and null for all", () => {
  const some = inOrder(["webRead", "fileRead"]);
  expect(setAgentSettingsOf({ capabilities: some })).toEqual({ capabilities: ["fileRead", "webRead"] });
  expect(setAgentSettingsOf({ capabilities: inOrder([...CAPABILITIES].reverse()) })).toEqual({ capabilities: null });
  expect(agentErrors({ ...EMPTY_AGENT, name: "a", capabilities: [] })).toHaveProperty("capabilities");
});
