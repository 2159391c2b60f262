import { type MouseEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";

/** Shows its content in the header, and on a phone behind one button. */
export function Menu({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (!isOpen) return;
    const pressOutside = (event: Event) => {
      if (!element.current?.contains(event.target as Node)) setOpen(false);
    };
    const pressEscape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("pointerdown", pressOutside);
    document.addEventListener("focusin", pressOutside);
    document.addEventListener("keydown", pressEscape);
    return () => {
      document.removeEventListener("pointerdown", pressOutside);
      document.removeEventListener("focusin", pressOutside);
      document.removeEventListener("keydown", pressEscape);
    };
  }, [isOpen]);
  const choose = ({ target }: MouseEvent) => {
    const chosen = (target as Element).closest("a, button");
    if (chosen && !chosen.hasAttribute("data-keeps-menu")) setOpen(false);
  };
  return (
    <div className="menu" ref={element}>
      <button
        ref={button}
        type="button"
        className="icon-button menu-button"
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={labels.shell.menu}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={isOpen ? "cross" : "menu"} />
      </button>
      {/* biome-ignore lint/a11y: the links and buttons inside are what is pressed; this only hears of it */}
      <div id={id} className={`menu-content ${isOpen ? "open" : ""}`} onClick={choose}>
        {children}
      </div>
    </div>
  );
}
