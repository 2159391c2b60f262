// The state of the event stream of the page.
import { useSyncExternalStore } from "react";
import type { StreamState } from "./stream";

let state: StreamState = "connecting";
/** Whether the state is that of a failed request, because no stream is open. */
let isSuspected = false;
const listeners = new Set<() => void>();

/** Reports a failed request. An open stream is better evidence, so its state stays. */
export function suspectConnection(next: StreamState): void {
  if (state === "live") return;
  setConnection(next);
  isSuspected = true;
}

/** Reports a request that succeeded. A page without a stream learns only from it that the daemon is back. */
export function clearSuspicion(): void {
  if (isSuspected) setConnection("connecting");
}

export function setConnection(next: StreamState): void {
  isSuspected = false;
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function connection(): StreamState {
  return state;
}

export function useConnection(): StreamState {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, connection);
}
