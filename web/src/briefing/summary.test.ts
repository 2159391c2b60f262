import { expect, it } from "vitest";
import type { AgentStatus, AttentionItem } from "../api/types";
import { summaryText } from "./summary";

const agents = (...activities: AgentStatus["activity"][]) =>
  activities.map((activity) => ({ agent_id: "main", activity }));
const failed: AttentionItem = { kind: "failed_runs" } as AttentionItem;
const parkedRun = (agent_id: string) => ({ kind: "parked_run", run: { agent_id } }) as AttentionItem;
const stuckAgent = (agent_id: string) => ({ kind: "stuck_agent", agent: { agent_id } }) as AttentionItem;

it("counts working agents first, then stuck and waiting ones", () => {
  expect(summaryText(agents("working", "queued", "stuck"), [])).toBe("2 agents working; nothing needs attention.");
  expect(summaryText(agents("stuck", "waiting"), [failed, failed])).toBe(
    "1 agent cannot continue; 2 items need attention.",
  );
  const parked = [{ agent_id: "pricey", activity: "stuck" as const }];
  expect(summaryText(parked, [parkedRun("pricey")])).toBe("1 agent waiting; 1 item needs attention.");
  expect(summaryText(agents("waiting_on_human"), [failed])).toBe("1 agent waiting; 1 item needs attention.");
  expect(summaryText(agents("asleep", "asleep"), [])).toBe("All agents are asleep; nothing needs attention.");
});

it("says that there are no agents, or that they are loading", () => {
  expect([summaryText([], []), summaryText(undefined, [])]).toEqual(["No agents yet.", "Loading…"]);
});

it("counts each stuck agent of the list once, also a temporary one", () => {
  const items = [stuckAgent("main"), stuckAgent("run-1")];
  expect(summaryText(agents("stuck"), items)).toBe("2 agents cannot continue; 2 items need attention.");
  expect(summaryText([], [stuckAgent("run-1")])).toBe("1 agent cannot continue; 1 item needs attention.");
});
