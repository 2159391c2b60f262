// Whether this browser is logged in, as far as the last answer told. One bit that the whole page hangs on.
import { useSyncExternalStore } from "react";

let isAnonymous = false;
const listeners = new Set<() => void>();

export function setAnonymous(next: boolean): void {
  if (next === isAnonymous) return;
  isAnonymous = next;
  for (const listener of listeners) listener();
}

export function useAnonymous(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isAnonymous,
  );
}
