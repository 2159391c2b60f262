// How the page's one stream stands, for the banner and for whoever wants to fetch again after a gap.
import { useSyncExternalStore } from "react";
import type { StreamState } from "./stream";

let state: StreamState = "connecting";
const listeners = new Set<() => void>();

/** Reports a doubt from outside the stream. Where the stream is open, it knows better. */
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
