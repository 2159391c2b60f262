import { expect, it } from "vitest";
import { sampleEvent } from "../api/samples";
import { LOG_EVENTS_MAX, merge } from "./log";

const seqs = (events: readonly { seq: number }[]) => events.map(({ seq }) => seq);

it("keeps each event once", () => {
  const known = merge([], [sampleEvent(1), sampleEvent(2)]);
  expect(seqs(merge(known, [sampleEvent(2), sampleEvent(3), sampleEvent(3)]))).toEqual([1, 2, 3]);
});

it("keeps equal sequence numbers of different agents", () => {
  expect(merge([sampleEvent(1)], [sampleEvent(1, { agent_id: "other" })])).toHaveLength(2);
});

it("returns the same list when nothing is new", () => {
  const known = [sampleEvent(1)];
  expect(merge(known, [sampleEvent(1)])).toBe(known);
});

it("inserts older events in order", () => {
  expect(seqs(merge([sampleEvent(5)], [sampleEvent(3), sampleEvent(4)]))).toEqual([3, 4, 5]);
});

it("orders events of an agent by number when its clock goes back", () => {
  const late = sampleEvent(1, { at: "2026-01-01T00:00:59Z" });
  expect(seqs(merge([late], [sampleEvent(2)]))).toEqual([1, 2]);
});

it("drops the oldest events at its limit", () => {
  const many = Array.from({ length: LOG_EVENTS_MAX }, (_, index) => sampleEvent(index + 1));
  const merged = merge(many, [sampleEvent(LOG_EVENTS_MAX + 1)]);
  expect([merged.length, merged[0]?.seq]).toEqual([LOG_EVENTS_MAX, 2]);
});
