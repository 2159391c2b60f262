// How much of the log is shown. A preference of the reader: every event is always loaded.

import type { Event, EventLevel } from "../api/types";
import { labels } from "../labels";

export type Display = "info" | "verbose" | "debug";

const DISPLAY_ORDER: readonly Display[] = ["info", "verbose", "debug"];

export const DISPLAYS = DISPLAY_ORDER.map((display) => ({ display, hint: labels.event.displays[display] }));

const SHOWN: Record<Display, readonly EventLevel[]> = {
  info: ["action_required", "work_done", "turn_result"],
  verbose: ["action_required", "work_done", "turn_result", "progress"],
  debug: ["action_required", "work_done", "turn_result", "progress", "trace"],
};

/** The same rule as in the terminal: every level but the lowest shows all events of tools. */
export function isShown(event: Event, display: Display): boolean {
  const { visibility, category } = event.presentation;
  return SHOWN[display].includes(visibility) || (display !== "info" && category === "tool");
}

const STORAGE_KEY = "wakeful.display";

export function storedDisplay(): Display {
  const stored = localStorage.getItem(STORAGE_KEY);
  return DISPLAYS.find(({ display }) => display === stored)?.display ?? "info";
}

export function storeDisplay(display: Display): void {
  localStorage.setItem(STORAGE_KEY, display);
}
