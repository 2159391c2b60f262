import { expect, it } from "vitest";
import { formatAgo, formatClock, formatDay, formatDuration, formatExact, formatUntil } from "./time";

const NOW = Date.parse("2026-03-10T12:00:00Z");
const before = (seconds: number) => formatAgo(new Date(NOW - seconds * 1_000).toISOString(), NOW);

it("formats past times in the largest unit that fits", () => {
  expect([3, 42, 200, 7_300, 90_000, 400_000].map(before)).toEqual([
    "just now",
    "42 s ago",
    "3 min ago",
    "2 h ago",
    "yesterday",
    "4 days ago",
  ]);
});

it("shows the date after two weeks", () => {
  expect(before(60 * 86_400)).toBe("Jan 9, 2026");
});

it("shows future times as now, because clocks differ", () => {
  expect([-30, -7_300].map(before)).toEqual(["just now", "just now"]);
});

it("formats future times", () => {
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

it("shows an invalid time as unknown", () => {
  expect(formatAgo("soon", NOW)).toBe("at an unknown time");
  expect(formatExact("soon")).toBe("soon");
});

it("formats durations in at most two units", () => {
  expect([24, 1_240, 42_400, 184_000, 3_600_000, 5_400_000].map(formatDuration)).toEqual([
    "24 ms",
    "1.2 s",
    "42 s",
    "3 min 4 s",
    "1 h",
    "1 h 30 min",
  ]);
});

it("shows local time, and the weekday when it is not today", () => {
  const at = new Date(2026, 2, 10, 9, 5);
  const sameDay = new Date(2026, 2, 10, 1, 0).getTime();
  const dayBefore = new Date(2026, 2, 9, 23, 0).getTime();
  expect([formatClock(at.toISOString(), sameDay), formatClock(at.toISOString(), dayBefore)]).toEqual([
    "09:05",
    "09:05 on Tuesday",
  ]);
  expect(formatClock("soon", NOW)).toBe("soon");
});

it("formats a calendar day the same in every time zone", () => {
  expect([formatDay("2026-11-15"), formatDay("someday")]).toEqual(["Sun, Nov 15", "someday"]);
});
