import { expect, it } from "vitest";
import { sampleEvent } from "../api/samples";
import type { EventCategory, EventLevel } from "../api/types";
import { type Display, isShown, storedDisplay } from "./level";

const LEVELS: EventLevel[] = ["action_required", "work_done", "turn_result", "progress", "trace"];
const about = (category: EventCategory, visibility: EventLevel) => {
  const event = sampleEvent(1, { visibility });
  return { ...event, presentation: { ...event.presentation, category } };
};
const shown = (display: Display) =>
  LEVELS.filter((visibility) => isShown(about("runtime", visibility), display)).length;

it("each level shows more, and alerts always", () => {
  expect([shown("info"), shown("verbose"), shown("debug")]).toEqual([3, 4, 5]);
});

it("levels above info show tool events", () => {
  const tool = about("tool", "trace");
  expect([isShown(tool, "info"), isShown(tool, "verbose")]).toEqual([false, true]);
});

it("defaults to info when the stored level is unknown", () => {
  localStorage.setItem("wakeful.display", "loud");
  expect(storedDisplay()).toBe("info");
});
