// Keeps the height of an element whose content became shorter, as long as a click could still be meant for the old one.
import { type CSSProperties, type RefObject, useContext, useEffect, useLayoutEffect, useRef, useState } from "react";
import { ClockContext } from "./clock";
import { ARMING_MS } from "./useArming";

interface HeldHeight {
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
    return isWhole ? undefined : clock.after(ARMING_MS, () => setRecent(false));
  }, [isWhole, clock]);
  return {
    ref,
    style: !isWhole && (isPointed || isRecent) ? { minHeight: height.current } : undefined,
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
  };
}
