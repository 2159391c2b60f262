import { expect, it } from "vitest";
import type { AgentStatus } from "../api/types";
import { summaryText } from "./summary";

const agents = (...activities: AgentStatus["activity"][]) =>
  activities.map((activity) => ({ agent_id: "main", activity }));

it("counts working agents first, then stuck and waiting ones", () => {
  expect(summaryText(agents("working", "queued", "stuck"), 0)).toBe("2 agents working; nothing needs attention.");
  expect(summaryText(agents("stuck", "waiting"), 2)).toBe("1 agent cannot continue; 2 items need attention.");
  const parked = [{ agent_id: "pricey", activity: "stuck" as const }];
  expect(summaryText(parked, 1, new Set(["pricey"]))).toBe("1 agent waiting; 1 item needs attention.");
  expect(summaryText(agents("waiting_on_human"), 1)).toBe("1 agent waiting; 1 item needs attention.");
  expect(summaryText(agents("asleep", "asleep"), 0)).toBe("All agents are asleep; nothing needs attention.");
});

it("says that there are no agents, or that they are loading", () => {
  expect([summaryText([], 0), summaryText(undefined, 0)]).toEqual(["No agents yet.", "Loading…"]);
});
