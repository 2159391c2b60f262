import { useContext, useEffect, useState } from "react";
import { labels } from "../labels";
import { ClockContext } from "./clock";
import { Icon } from "./Icon";

/** How long the button says that it has copied. */
const DONE_MS = 2_000;

/** Copies a text. Browsers offer the clipboard only to pages on this machine or over HTTPS; elsewhere the button is left out. */
export function CopyButton({ text, label = labels.common.copy }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  const clock = useContext(ClockContext);
  useEffect(() => (isDone ? clock.after(DONE_MS, () => setDone(false)) : undefined), [isDone, clock]);
  if (!navigator.clipboard) return null;
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setDone(true),
      () => setDone(false),
    );
  const shown = isDone ? labels.common.copied : label;
  return (
    <button type="button" className="icon-button copy" aria-label={shown} title={shown} onClick={() => void copy()}>
      <Icon name={isDone ? "check" : "copy"} />
    </button>
  );
}
