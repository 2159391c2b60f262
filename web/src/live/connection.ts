// The state of the event stream of the page.
import { useSyncExternalStore } from "react";
import type { StreamState } from "./stream";

let state: StreamState = "connecting";
const listeners = new Set<() => void>();

/** Reports a failed request. An open stream is better evidence, so its state stays. */
export function suspectConnection(next: StreamState): void {
  if (state !== "live") setConnection(next);
}

export function setConnection(next: StreamState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useConnection(): StreamState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}
