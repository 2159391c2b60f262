import { expect, it } from "vitest";
import {
  agentPath,
  editAgentPath,
  newAgentPath,
  routeOf,
  runPath,
  runsPath,
  schedulesPath,
  setupPath,
  threadPath,
} from "./router";

it("parses each path that it builds", () => {
  expect(routeOf("/")).toEqual({ page: "briefing" });
  expect(routeOf(agentPath("gym coach"))).toEqual({ page: "agent", agentId: "gym coach" });
  expect(routeOf(runPath("main", "ae6a"))).toEqual({ page: "run", agentId: "main", runKey: "ae6a" });
  expect(routeOf(runsPath)).toEqual({ page: "runs" });
  expect(routeOf(schedulesPath)).toEqual({ page: "schedules" });
  expect(routeOf("/setup")).toEqual({ page: "setup", section: "agents" });
  expect(routeOf(setupPath("sources"))).toEqual({ page: "setup", section: "sources" });
  expect(routeOf(newAgentPath)).toEqual({ page: "newAgent" });
  expect(routeOf(editAgentPath("new-agent"))).toEqual({ page: "editAgent", agentId: "new-agent" });
});

it("does not find other paths", () => {
  for (const path of [
    "/agents",
    "/agents/a/b",
    "/agents/a/runs",
    "/x",
    "/agents/%",
    "/runs/a",
    "/setup/x",
    "/setup/sources/a",
  ])
    expect(routeOf(path)).toEqual({ page: "notFound" });
});

it("names a conversation in the query, except the main one", () => {
  expect(threadPath("main", "cli")).toBe("/agents/main");
  expect(threadPath("main", "trip 2")).toBe("/agents/main?thread=trip+2");
});
