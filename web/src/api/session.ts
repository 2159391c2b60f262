// Whether this browser is logged in, by the last response of the server.
import { useSyncExternalStore } from "react";

let isLoggedOut = false;
const listeners = new Set<() => void>();

export function setLoggedOut(next: boolean): void {
  if (next === isLoggedOut) return;
  isLoggedOut = next;
  for (const listener of listeners) listener();
}

export function useLoggedOut(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isLoggedOut,
  );
}
