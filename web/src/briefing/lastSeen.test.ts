import { expect, it } from "vitest";
import { sampleAgent, sampleEvent } from "../api/samples";
import { isOtherLog, markSeen, newSince, storedLastSeen, storeLastSeen } from "./lastSeen";

const NOW = new Date("2026-01-02T00:00:00Z");
const log = [sampleEvent(1), sampleEvent(2), sampleEvent(1, { agent_id: "other" })];

it("shows all events without a mark", () => {
  expect(newSince(undefined, log)).toEqual(log);
});

it("shows only events after the mark of each agent", () => {
  const lastSeen = markSeen(undefined, log, "c1", NOW);
  const later = [...log, sampleEvent(3), sampleEvent(1, { agent_id: "third" })];
  expect(newSince(lastSeen, later).map((event) => `${event.agent_id} ${event.seq}`)).toEqual(["main 3", "third 1"]);
});

it("a shorter list does not make old events new", () => {
  const lastSeen = markSeen(markSeen(undefined, log, "c1", NOW), [sampleEvent(1)], "c2", NOW);
  expect(lastSeen).toEqual({ cursor: "c2", seen: { main: 2, other: 1 }, at: NOW.toISOString() });
});

it("recognizes a mark of another log", () => {
  const lastSeen = markSeen(undefined, log, "c1", NOW);
  expect(isOtherLog(lastSeen, [sampleAgent({ last_seq: 2 })])).toBe(false);
  expect(isOtherLog(lastSeen, [sampleAgent({ last_seq: 1 })])).toBe(true);
});

it("survives a reload and invalid storage", () => {
  const lastSeen = markSeen(undefined, log, "c1", NOW);
  storeLastSeen(lastSeen);
  expect(storedLastSeen()).toEqual(lastSeen);
  localStorage.setItem("wakeful.last-seen", "{broken");
  expect(storedLastSeen()).toBeUndefined();
});
