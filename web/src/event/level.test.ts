import { expect, it } from "vitest";
import { sampleEvent } from "../api/samples";
import type { Category, Level } from "../api/types";
import { type Display, isShown, storedDisplay } from "./level";

const LEVELS: Level[] = ["action_required", "work_done", "turn_result", "progress", "trace"];
const about = (category: Category, visibility: Level) => {
  const event = sampleEvent(1, { visibility });
  return { ...event, presentation: { ...event.presentation, category } };
};
const shown = (display: Display) =>
  LEVELS.filter((visibility) => isShown(about("runtime", visibility), display)).length;

it("shows more with each display level, and what needs somebody always", () => {
  expect([shown("info"), shown("verbose"), shown("debug")]).toEqual([3, 4, 5]);
});

it("shows what tools did to whoever asked for more than results", () => {
  const tool = about("tool", "trace");
  expect([isShown(tool, "info"), isShown(tool, "verbose")]).toEqual([false, true]);
});

it("begins with info, also when something strange was stored", () => {
  localStorage.setItem("wakeful.display", "loud");
  expect(storedDisplay()).toBe("info");
});
