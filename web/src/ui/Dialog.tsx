import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Icon } from "./Icon";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** The browser's own dialog: it keeps the focus inside, gives it back, and closes on Escape. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // Before paint, and closed before it is taken away: only then does the browser give the focus back.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector("input")?.focus();
    return () => dialog?.close();
  }, []);
  // The event comes late, and the dialog may have been opened again meanwhile.
  const closed = () => {
    if (!element.current?.open) onClose();
  };
  return (
    <dialog ref={element} className="dialog" aria-labelledby="dialog-title" onClose={closed}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
