import { expect, it } from "vitest";
import { agentPath, routeOf, runPath } from "./router";

it("parses each path that it builds", () => {
  expect(routeOf("/")).toEqual({ page: "briefing" });
  expect(routeOf(agentPath("gym coach"))).toEqual({ page: "agent", agentId: "gym coach" });
  expect(routeOf(runPath("main", "ae6a"))).toEqual({ page: "run", agentId: "main", runKey: "ae6a" });
});

it("does not find other paths", () => {
  for (const path of ["/agents", "/agents/a/b", "/agents/a/runs", "/x", "/agents/%"])
    expect(routeOf(path)).toEqual({ page: "notFound" });
});
