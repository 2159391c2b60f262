import { expect, it } from "vitest";
import { sampleAgent, sampleEvent } from "../api/samples";
import { isForeign, lookAt, since, storedLook, storeLook } from "./look";

const NOW = new Date("2026-01-02T00:00:00Z");
const log = [sampleEvent(1), sampleEvent(2), sampleEvent(1, { agent_id: "other" })];

it("takes everything as new when nobody ever looked", () => {
  expect(since(undefined, log)).toEqual(log);
});

it("shows only what came after the last look, agent by agent", () => {
  const look = lookAt(undefined, log, "c1", NOW);
  const later = [...log, sampleEvent(3), sampleEvent(1, { agent_id: "third" })];
  expect(since(look, later).map((event) => `${event.agent_id} ${event.seq}`)).toEqual(["main 3", "third 1"]);
});

it("never looks back: a shorter list does not make old events new", () => {
  const look = lookAt(lookAt(undefined, log, "c1", NOW), [sampleEvent(1)], "c2", NOW);
  expect(look).toEqual({ cursor: "c2", seen: { main: 2, other: 1 }, at: NOW.toISOString() });
});

it("recognises a look at another log", () => {
  const look = lookAt(undefined, log, "c1", NOW);
  expect(isForeign(look, [sampleAgent({ last_seq: 2 })])).toBe(false);
  expect(isForeign(look, [sampleAgent({ last_seq: 1 })])).toBe(true);
});

it("survives a reload, and a store that holds nonsense", () => {
  const look = lookAt(undefined, log, "c1", NOW);
  storeLook(look);
  expect(storedLook()).toEqual(look);
  localStorage.setItem("wakeful.look", "{broken");
  expect(storedLook()).toBeUndefined();
});
