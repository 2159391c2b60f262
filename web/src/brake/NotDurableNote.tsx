import type { NotDurable } from "../api/types";
import { labels } from "../labels";

/** Says that a brake or a cancellation is in force, and that the database does not have it yet. */
export function NotDurableNote({ notDurable }: { notDurable: NotDurable | undefined }) {
  if (notDurable === undefined) return null;
  const { code, is_saved: isKept } = notDurable;
  const { notDurable: notSaved, notDurableKept, notDurableLost, notDurableReasons, notDurableRetry } = labels.brake;
  return (
    <p className="not-durable">
      {notSaved(notDurableReasons[code] ?? code)} {isKept ? notDurableKept : notDurableLost} {notDurableRetry}
    </p>
  );
}
