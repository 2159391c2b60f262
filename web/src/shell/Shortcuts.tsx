import { useEffect, useRef } from "react";
import { Dialog } from "../ui/Dialog";
import { briefingPath, navigate } from "./router";

const KEYS: readonly [string, string][] = [
  ["g then b", "go to the briefing"],
  ["/", "write to the agent"],
  ["Enter", "send the message"],
  ["Shift + Enter", "new line in the message"],
  ["Esc", "leave the message box, close a dialog"],
  ["?", "show this list"],
];

/** The list of shortcuts. */
export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        {KEYS.map(([key, meaning]) => (
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

/** How long a `g` waits for its second letter. */
const PAIR_MS_MAX = 1_500;

/** Listens for shortcuts wherever nothing is being typed. */
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
