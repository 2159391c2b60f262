import { expect, it } from "vitest";
import { formatAgo, formatClock, formatDay, formatDuration, formatExact, formatUntil } from "./time";

const NOW = Date.parse("2026-03-10T12:00:00Z");
const before = (seconds: number) => formatAgo(new Date(NOW - seconds * 1_000).toISOString(), NOW);

it("says how long ago something was in the largest unit that fits", () => {
  expect([3, 42, 200, 7_300, 90_000, 400_000].map(before)).toEqual([
    "just now",
    "42 s ago",
    "3 min ago",
    "2 h ago",
    "yesterday",
    "4 days ago",
  ]);
});

it("names the day when something was weeks ago", () => {
  expect(before(60 * 86_400)).toBe("Jan 9, 2026");
});

it("takes what is said to be past for now, because two clocks never agree", () => {
  expect([-30, -7_300].map(before)).toEqual(["just now", "just now"]);
});

it("says how soon something will be, such as a deadline", () => {
  const inSeconds = (seconds: number) => formatUntil(new Date(NOW + seconds * 1_000).toISOString(), NOW);
  expect([0, 59, 61, 7_300, 100_000, 400_000, 60 * 86_400].map(inSeconds)).toEqual([
    "now",
    "in less than a minute",
    "in 1 min",
    "in 2 h",
    "in 27 h",
    "in 4 days",
    "May 9, 2026",
  ]);
});

it("does not fall over a time that is none", () => {
  expect(formatAgo("soon", NOW)).toBe("at an unknown time");
  expect(formatExact("soon")).toBe("soon");
});

it("gives durations no more precision than anybody reads", () => {
  expect([24, 1_240, 42_400, 184_000, 3_600_000, 5_400_000].map(formatDuration)).toEqual([
    "24 ms",
    "1.2 s",
    "42 s",
    "3 min 4 s",
    "1 h",
    "1 h 30 min",
  ]);
});

it("tells the time by the reader's clock, and the day where it is another one", () => {
  const at = new Date(2026, 2, 10, 9, 5);
  const sameDay = new Date(2026, 2, 10, 1, 0).getTime();
  const dayBefore = new Date(2026, 2, 9, 23, 0).getTime();
  expect([formatClock(at.toISOString(), sameDay), formatClock(at.toISOString(), dayBefore)]).toEqual([
    "09:05",
    "09:05 on Tuesday",
  ]);
  expect(formatClock("soon", NOW)).toBe("soon");
});

it("writes a day of the calendar the same wherever the reader is", () => {
  expect([formatDay("2026-11-15"), formatDay("someday")]).toEqual(["Sun, Nov 15", "someday"]);
});
