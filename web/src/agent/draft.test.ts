import { expect, it } from "vitest";
import { agentErrors, byteCount, createAgentOf, EMPTY_AGENT, setAgentSettingsOf } from "./draft";
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
  const settings = { allowed_hosts: ["a.example"], published_ports: [80] };
  const sandbox = sandboxDraftOf(settings);
  expect(setAgentSettingsOf({ sandbox: { ...sandbox, readable_paths: " /a \n\n/b\n/a" } })).toEqual({
    sandbox: { readable_paths: ["/a", "/b"], ...settings },
  });
  expect(setAgentSettingsOf({ sandbox: { ...sandbox, allowed_hosts: "", published_ports: " " } })).toEqual({
    sandbox: null,
  });
});

it("checks paths and ports of the sandbox where they are typed", () => {
  const errorsOf = (change: Partial<SandboxDraft>) =>
    Object.keys(agentErrors({ ...EMPTY_AGENT, name: "a", sandbox: { ...EMPTY_AGENT.sandbox, ...change } }));
  expect(errorsOf({ writable_paths: "out" })).toEqual(["writable_paths"]);
  expect(errorsOf({ published_ports: "80\n65536" })).toEqual(["published_ports"]);
  expect(errorsOf({ denied_hosts: Array.from({ length: 65 }, (_, index) => `h${index}`).join("\n") })).toEqual([
    "denied_hosts",
  ]);
  expect(errorsOf({ writable_paths: "/out", published_ports: "8080", unprotected_paths: ".git/hooks" })).toEqual([]);
});
