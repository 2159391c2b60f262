import { useEffect, useState } from "react";
import { labels } from "../labels";
import { Icon } from "./Icon";

const COPIED_MS = 2_000;

/** Copies a text to the clipboard, and says so for a moment. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button type="button" className="button" aria-label={label} onClick={() => void copy().catch(() => undefined)}>
      <Icon name={isCopied ? "check" : "copy"} />{" "}
      <span role="status">{isCopied ? labels.common.copied : labels.common.copy}</span>
    </button>
  );
}
