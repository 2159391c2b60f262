// Keeps the height of an element whose content became shorter, as long as a click could still be meant for the old one.
import { type CSSProperties, type RefObject, useContext, useEffect, useLayoutEffect, useRef, useState } from "react";
import { ClockContext } from "./clock";

/** How long the height is kept at least, so that a person can read what replaced the content. */
export const HELD_MS = 3_000;

interface HeldHeight {
  className: string;
  ref: RefObject<HTMLDivElement | null>;
  style: CSSProperties | undefined;
  onPointerEnter: () => void;
  onPointerLeave: () => void;
}

/** The properties of an element that keeps its last height until the pointer has left it, and at least for a moment. */
export function useHeldHeight(isWhole: boolean): HeldHeight {
  const ref = useRef<HTMLDivElement>(null);
  const height = useRef(0);
  const [isPointed, setPointed] = useState(false);
  const [isRecent, setRecent] = useState(true);
  const clock = useContext(ClockContext);
  useLayoutEffect(() => {
    if (isWhole) height.current = ref.current?.getBoundingClientRect().height ?? 0;
  });
  useEffect(() => {
    setRecent(true);
    return isWhole ? undefined : clock.after(HELD_MS, () => setRecent(false));
  }, [isWhole, clock]);
  const isHeld = !isWhole && (isPointed || isRecent);
  return {
    className: isHeld ? "held-height held" : "held-height",
    ref,
    style: isHeld ? { minHeight: height.current } : undefined,
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
  };
}
