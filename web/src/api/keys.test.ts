import { QueryClient, type QueryKey } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { ACTIVITY_KEYS, ATTENTION_KEYS, invalidate, isLogKey, keys } from "./keys";

const sources = import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

/** One key of each kind. */
const all: Record<keyof typeof keys, QueryKey> = {
  agents: keys.agents(),
  anyAgent: keys.anyAgent(),
  agent: keys.agent("main"),
  agentState: keys.agentState("main"),
  agentRuns: keys.agentRuns("main"),
  agentTranscript: keys.agentTranscript({ agentId: "main", thread: "cli", lines: 200 }),
  agentThreads: keys.agentThreads("main"),
  agentSpending: keys.agentSpending("main"),
  agentSubscriptions: keys.agentSubscriptions("main"),
  agentSettings: keys.agentSettings("main"),
  agentPolicy: keys.agentPolicy("main"),
  agentWhyNot: keys.agentWhyNot("main"),
  anyRun: keys.anyRun(),
  run: keys.run("r"),
  runWhy: keys.runWhy("r"),
  runStep: keys.runStep("r", "o"),
  stepPolicy: keys.stepPolicy("r", "o"),
  runChanges: keys.runChanges("r"),
  attention: keys.attention(),
  anyRunList: keys.anyRunList(),
  runList: keys.runList("?status=open"),
  runsSince: keys.runsSince("2026-01-01T00:00:00Z"),
  decisions: keys.decisions(),
  fullDecision: keys.fullDecision("d"),
  endedDecision: keys.endedDecision("d"),
  brakes: keys.brakes(),
  budget: keys.budget(),
  limits: keys.limits(),
  schedules: keys.schedules(),
  executions: keys.executions("daily"),
  sources: keys.sources(),
  trigger: keys.trigger("main"),
  categories: keys.categories(),
  models: keys.models(),
  tools: keys.tools(),
  providers: keys.providers(),
  localProviders: keys.localProviders(),
  secrets: keys.secrets(),
  folders: keys.folders(),
  untrustedFiles: keys.untrustedFiles("/srv"),
  anyAudit: keys.anyAudit(),
  audit: keys.audit("decision=deny"),
  settings: keys.settings(),
  logins: keys.logins(),
  runtime: keys.runtime(),
  anyLog: keys.anyLog(),
  feed: keys.feed(),
  agentEvents: keys.agentEvents("main"),
};

/** The names of the keys that an invalidation reaches. */
async function reached(stale: readonly QueryKey[]): Promise<string[]> {
  const client = new QueryClient();
  for (const [name, queryKey] of Object.entries(all)) client.setQueryData(queryKey, name);
  await invalidate(client, stale);
  const queries = client.getQueryCache().findAll({ predicate: ({ state }) => state.isInvalidated });
  return queries.map((query) => String(query.state.data)).sort();
}

it("builds a different key for each response", () => {
  expect(new Set(Object.values(all).map((key) => JSON.stringify(key))).size).toBe(Object.keys(all).length);
  expect(keys.agentState("main")).not.toEqual(keys.agentState("other"));
});

it("invalidates everything about one agent by its key, and no log", async () => {
  expect(await reached([keys.agent("main")])).toEqual([
    "agent",
    "agentPolicy",
    "agentRuns",
    "agentSettings",
    "agentSpending",
    "agentState",
    "agentSubscriptions",
    "agentThreads",
    "agentTranscript",
    "agentWhyNot",
  ]);
  expect(await reached([keys.agent("other")])).toEqual([]);
});

it("invalidates what shows agents and runs, and what needs attention", async () => {
  const names = await reached([...ACTIVITY_KEYS, ...ATTENTION_KEYS]);
  const untouched = Object.keys(all).filter((name) => !names.includes(name));
  expect(untouched).toEqual([
    "fullDecision",
    "endedDecision",
    "budget",
    "limits",
    "schedules",
    "executions",
    "sources",
    "trigger",
    "categories",
    "models",
    "tools",
    "providers",
    "localProviders",
    "secrets",
    "folders",
    "untrustedFiles",
    "settings",
    "logins",
    "anyLog",
    "feed",
    "agentEvents",
  ]);
});

it("knows the keys of logs", () => {
  const logs = Object.entries(all).filter(([, key]) => isLogKey(key));
  expect(logs.map(([name]) => name)).toEqual(["anyLog", "feed", "agentEvents"]);
});

it("finds no query key spelled out in another module", () => {
  const roots = new Set(Object.values(all).map(([root]) => String(root)));
  const spelled = new RegExp(`(?<!\\w)\\[\\s*"(${[...roots].join("|")})"|queryKey\\[`);
  const found = Object.entries(sources).filter(([path, text]) => !path.startsWith("./keys.") && spelled.test(text));
  expect(found.map(([path]) => path)).toEqual([]);
});
