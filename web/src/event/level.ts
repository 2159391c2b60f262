// How much of the log is shown. A matter of taste, not of permission: all of it is always there.
import type { Event, Level } from "../api/types";

export type Display = "info" | "verbose" | "debug";

export const DISPLAYS: readonly { display: Display; hint: string }[] = [
  { display: "info", hint: "what was done, and how it ended" },
  { display: "verbose", hint: "also what moves on the way" },
  { display: "debug", hint: "everything, down to each verdict" },
];

const SHOWN: Record<Display, readonly Level[]> = {
  info: ["action_required", "work_done", "turn_result"],
  verbose: ["action_required", "work_done", "turn_result", "progress"],
  debug: ["action_required", "work_done", "turn_result", "progress", "trace"],
};

/** The same rule as in the terminal: lines about tools are short enough for everyone who asked for more. */
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
