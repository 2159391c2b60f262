import { expect, it } from "vitest";
import { sampleBudget, sampleEvent, sampleParked } from "../api/samples";
import {
  capError,
  capUsage,
  dollars,
  isSpent,
  microOf,
  parkedHeadline,
  parkedOf,
  parkedText,
  todayOf,
  usdOf,
} from "./money";

it("shows every decimal, and at least two", () => {
  expect(["0.00", "0.000003", "5", "1234.5"].map(dollars)).toEqual(["$0.00", "$0.000003", "$5.00", "$1,234.50"]);
});

it("converts dollars to millionths and back exactly", () => {
  expect(["0.31", "0.000001", "999999.999999", undefined, "much"].map(microOf)).toEqual([
    310_000, 1, 999_999_999_999, 0, 0,
  ]);
  expect([0, 1, 310_000, 5_000_000, 999_999_999_999].map(usdOf)).toEqual([
    "0.00",
    "0.000001",
    "0.31",
    "5.00",
    "999999.999999",
  ]);
});

it("zero is not a cost", () => {
  expect([isSpent(undefined), isSpent("0.00"), isSpent("0.000001")]).toEqual([false, false, true]);
});

it("warns near and at the cap, and counts reserved amounts", () => {
  const shown = (spent: string, reserved: string, cap: string) => {
    const { percent, usage: word } = capUsage(spent, reserved, cap);
    return `${percent} ${word}`;
  };
  expect(shown("0.31", "0.00", "5.00")).toBe("6 fine");
  expect(shown("4.00", "0.00", "5.00")).toBe("80 fine");
  expect(shown("4.00", "0.000001", "5.00")).toBe("80 near");
  expect(shown("4.999999", "0.00", "5.00")).toBe("99 near");
  expect(shown("4.00", "1.00", "5.00")).toBe("100 full");
  expect(shown("7.00", "0.00", "5.00")).toBe("100 full");
});

it("a cap of zero is reached", () => {
  expect(capUsage("0.00", "0.00", "0.00")).toEqual({ percent: 100, usage: "full" });
});

it("says what is wrong with a cap", () => {
  expect(["0", "2.50", " 5 ", "1000000", "0.000001"].map(capError)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(["-1", "2,50", "1e3", ".5", "1.0000001", "$5"].map((text) => capError(text)?.slice(0, 13))).toEqual(
    Array.from({ length: 6 }, () => "Not an amount"),
  );
  expect(capError("  ")).toBe("Enter an amount in dollars, such as 2.50.");
  expect(capError("1000000.01")).toBe("The maximum is $1,000,000.00 a day.");
});

it("says why a run is parked and by which cap", () => {
  expect(parkedText(sampleParked())).toBe(
    "All agents together may spend $5.00 a day. $4.98 is spent or reserved, and the next request may cost up to $0.04.",
  );
  expect(parkedText(sampleParked({ scope: "agent" }))).toMatch(/^This agent may spend/);
  const tokens = sampleParked({ scope: "tree", resource: "tokens", period: "lifetime", max: 10, used: 9, needed: 2 });
  expect(parkedText(tokens)).toBe(
    "The limit of 10 tokens for the run and its sub-runs does not cover the next step: 9 tokens used or reserved, " +
      "2 tokens needed.",
  );
});

it("parses amounts from a parked event unless it was erased", () => {
  const { hint: _hint, message: _message, command: _command, ...amounts } = sampleParked();
  const { scope, resource, period, max, used, needed } = amounts;
  const exceeded = { scope, resource, period, max, used, needed, reserved: 0 };
  expect(parkedOf(sampleEvent(1, { kind: "run_parked", payload: { code: "budget_exceeded", exceeded } }))).toEqual(
    amounts,
  );
  expect(parkedOf(sampleEvent(1, { kind: "run_parked" }))).toBeUndefined();
  expect(
    parkedOf(sampleEvent(1, { kind: "run_parked", payload: { code: "budget_exceeded", exceeded: { scope: "all" } } })),
  ).toBeUndefined();
});

it("returns what an agent spent today, also when that is zero", () => {
  const agents = [{ agent_id: "main", spent_usd: "0.12", reserved_usd: "0.00", requests: 3, daily_cap_usd: "1.00" }];
  const budget = sampleBudget({ agents });
  expect(todayOf(budget, "main")).toEqual({ spentUsd: "0.12", capUsd: "1.00" });
  expect(todayOf(budget, "scout")).toEqual({ spentUsd: "0.00", capUsd: undefined });
  expect(todayOf(undefined, "main")).toBeUndefined();
});

it("a cap is reached only when all of it is spent", () => {
  const headline = (spent: string, needed: string) =>
    parkedHeadline(sampleParked({ max: 5_000_000, used: microOf(spent), needed: microOf(needed) }));
  expect(headline("0.00", "14.9925")).toBe("Waiting: the next request may cost up to $14.9925, the cap is $5.00 a day");
  expect(headline("4.50", "0.75")).toBe("Waiting: the next request may cost up to $0.75, $0.50 of $5.00 is left");
  expect(headline("5.00", "0.75")).toBe("Waiting: daily cap reached");
  expect(headline("5.25", "6.00")).toBe("Waiting: the next request may cost up to $6.00, the cap is $5.00 a day");
  expect(parkedHeadline(undefined)).toBe("Waiting for budget");
});
