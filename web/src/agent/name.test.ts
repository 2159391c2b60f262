import { expect, it } from "vitest";
import { agentName } from "./name";

it("the agent of a one-time run has no name for people", () => {
  expect(
    ["main", "temp-01a1f5b8-0d1c-7000-8000-000000000000", `temp-${"a1".repeat(16)}`, "temp-sensor", "temp-cafe"].map(
      agentName,
    ),
  ).toEqual(["main", "one-time run", "one-time run", "temp-sensor", "temp-cafe"]);
});
