import { expect, it } from "vitest";
import { filtersOf, isFiltered, requestOf, searchOf } from "./filters";

const ALL = {
  search: "two words",
  agent: "main",
  statuses: ["open", "failed"],
  cause: "timer_tick",
  period: "day",
} as const;

it("reads the filters that it writes into the address", () => {
  expect(filtersOf(`?${searchOf({ ...ALL })}`)).toEqual(ALL);
  expect(searchOf(filtersOf(""))).toBe("");
  expect(isFiltered(filtersOf(""))).toBe(false);
});

it("ignores what an address has and it does not know", () => {
  expect(filtersOf("?status=open,melted&cause=moon&period=era&other=1")).toEqual({
    search: "",
    agent: "",
    statuses: ["open"],
    cause: "",
    period: "",
  });
});

it("asks the server for the filters, and for nothing else", () => {
  const now = Date.parse("2026-01-02T00:00:30Z");
  expect(requestOf({ ...ALL }, now)).toEqual({
    search: "two words",
    agent_id: "main",
    status: "open,failed",
    cause: "timer_tick",
    since: "2026-01-01T00:00:00.000Z",
  });
  expect(requestOf(filtersOf(""), now)).toEqual({});
});
