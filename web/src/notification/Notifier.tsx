import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { keys } from "../api/keys";
import { attentionQuery } from "../api/queries";
import { navigate } from "../shell/router";
import { type Notice, newNotices, noticesOf } from "./notice";
import { useNotificationState } from "./permission";

/**
 * A page in the background closes its stream, so what it notifies about is polled. Browsers slow timers in the background
 * to one a minute.
 */
const POLL_MS = 20_000;

const polled = {
  refetchInterval: () => (document.hidden ? POLL_MS : false) as number | false,
  refetchIntervalInBackground: true,
};

/** Notifies about new things that need a person while the page is hidden. */
export function Notifier() {
  return useNotificationState() === "on" ? <ActiveNotifier /> : null;
}

function ActiveNotifier() {
  const attention = useQuery({ ...attentionQuery, ...polled }).data;
  const known = useRef<ReadonlySet<string>>(undefined);
  const client = useQueryClient();
  useEffect(() => {
    // The interval of a query is only computed anew after a fetch.
    const restart = () => {
      if (document.hidden) void client.invalidateQueries({ queryKey: keys.attention() });
    };
    document.addEventListener("visibilitychange", restart);
    return () => document.removeEventListener("visibilitychange", restart);
  }, [client]);
  useEffect(() => {
    if (!attention) return;
    const notices = noticesOf(attention.items);
    // What was there when the page opened is on the screen.
    const fresh = known.current && document.hidden ? newNotices(known.current, notices) : [];
    known.current = new Set(notices.map(({ tag }) => tag));
    for (const notice of fresh) notify(notice);
  }, [attention]);
  return null;
}

function notify({ tag, title, body, path }: Notice): void {
  try {
    const notification = new Notification(title, { tag, body });
    notification.onclick = () => {
      window.focus();
      navigate(path);
      notification.close();
    };
  } catch {
    // Some browsers on phones allow notifications only from a service worker, which this page has not.
  }
}
