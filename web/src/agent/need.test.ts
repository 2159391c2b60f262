import { expect, it } from "vitest";
import { sampleAgent } from "../api/samples";
import type { AgentStatus, RunSummary } from "../api/types";
import { sortByNeed } from "./need";

const NOW = Date.parse("2026-01-03T00:00:00Z");

function failedAt(ended: string): RunSummary {
  const started = "2026-01-01T00:00:00Z";
  return {
    run_key: "r",
    agent_id: "x",
    status: "failed",
    transitions: 1,
    counts: { model_rounds: 0, tool_calls: 0, denied: 0, failed: 0, unknown: 0 },
    started_at: started,
    ended_at: ended,
  };
}

const agents: [string, Partial<AgentStatus>][] = [
  ["decides", { pending_decisions: 1 }],
  ["quarantined", { quarantined_runs: 1 }],
  ["parked", { activity: "stuck" }],
  ["stuck", { activity: "stuck" }],
  ["failed", { last_run: failedAt("2026-01-02T12:00:00Z") }],
  ["working", { activity: "working" }],
  ["queued", { activity: "queued" }],
  ["asleep", {}],
  ["failed-long-ago", { last_run: failedAt("2026-01-01T12:00:00Z") }],
  ["destroyed", { lifecycle: "destroyed", activity: "stuck" }],
  ["private", { visibility: "private" }],
];

it("sorts agents by need, then by name", () => {
  const shuffled = agents.map(([id, over]) => sampleAgent({ agent_id: id, ...over })).toSorted(() => -1);
  const sorted = sortByNeed(shuffled, { parked: new Set(["parked"]), now: NOW });
  expect(sorted.map((agent) => agent.agent_id)).toEqual(agents.map(([id]) => id));
});
