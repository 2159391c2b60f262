import { useEffect, useRef } from "react";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { briefingPath, navigate } from "./router";

/** The list of shortcuts. */
export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={labels.shell.shortcuts} onClose={onClose}>
      <dl className="keys">
        {labels.shell.shortcutKeys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** How long `g` waits for the second key. */
const PAIR_MS_MAX = 1_500;

/** Handles shortcuts while the focus is not in a text field. */
export function useShortcuts(onHelp: () => void): void {
  const pressedG = useRef(0);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      const target = event.target as HTMLElement;
      if (target.closest("input, textarea, select, dialog, [contenteditable]")) {
        if (event.key === "Escape" && target.matches("textarea")) target.blur();
        return;
      }
      const isPair = Date.now() - pressedG.current < PAIR_MS_MAX;
      pressedG.current = event.key === "g" ? Date.now() : 0;
      const box = document.querySelector<HTMLTextAreaElement>("#message-box");
      if (event.key === "?") onHelp();
      else if (event.key === "b" && isPair) navigate(briefingPath);
      else if (event.key === "/" && box) {
        event.preventDefault();
        box.focus();
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [onHelp]);
}
