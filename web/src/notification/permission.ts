// Whether the browser may notify, and whether the reader wants it. Both are needed; neither is asked for unless the reader
// presses the button.
import { useSyncExternalStore } from "react";

export type NotificationState = "unsupported" | "off" | "on" | "blocked";

const STORAGE_KEY = "wakeful.notifications";
const listeners = new Set<() => void>();

export function notificationState(): NotificationState {
  if (!("Notification" in window)) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && localStorage.getItem(STORAGE_KEY) === "on" ? "on" : "off";
}

/** Turns notifications on, after the browser has asked the reader, or off. */
export async function toggleNotifications(): Promise<void> {
  if (notificationState() === "on") localStorage.removeItem(STORAGE_KEY);
  else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(STORAGE_KEY, "on");
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Another page of this browser may have changed it.
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

export function useNotificationState(): NotificationState {
  return useSyncExternalStore(subscribe, notificationState);
}
