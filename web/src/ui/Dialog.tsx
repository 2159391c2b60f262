import { type ReactNode, useLayoutEffect, useRef } from "react";
import { labels } from "../labels";
import { Icon } from "./Icon";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** The browser's modal dialog: it keeps the focus inside, restores it on close, and closes on Escape. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // Opened before paint, and closed before it is removed: only then does the browser restore the focus.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector("input")?.focus();
    return () => dialog?.close();
  }, []);
  // The close event arrives late; the dialog may be open again by then.
  const closed = () => {
    if (!element.current?.open) onClose();
  };
  return (
    <dialog ref={element} className="dialog" aria-labelledby="dialog-title" onClose={closed}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button type="button" className="icon-button" aria-label={labels.common.close} onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
