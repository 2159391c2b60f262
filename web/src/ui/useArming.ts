// Ignores clicks on buttons that have just appeared or moved: such a click was meant for what was there before.
import { type RefObject, useCallback, useContext, useLayoutEffect, useRef, useState } from "react";
import { ClockContext } from "./clock";

/** Longer than the time between the two clicks of a double click, which systems limit to half a second. */
export const ARMING_MS = 700;

/** A smaller change of position is a rounding error and not a movement. */
const MOVED_PX = 2;

export interface Arming<E extends HTMLElement> {
  /** The element whose position is watched. */
  ref: RefObject<E | null>;
  isArmed: boolean;
  /** Wraps a handler so that it runs only while the element is armed. */
  whenArmed: (act: () => void) => () => void;
}

/** Arms an element when it has been at the same place of the page for a while. */
export function useArming<E extends HTMLElement>(): Arming<E> {
  const ref = useRef<E>(null);
  const place = useRef<number>(undefined);
  // A ref beside the state, because a click can arrive before the next render.
  const armed = useRef(false);
  const [isArmed, setArmed] = useState(false);
  const cancel = useRef(() => {});
  const clock = useContext(ClockContext);

  const check = useCallback(() => {
    if (!ref.current) return;
    const top = ref.current.getBoundingClientRect().top + window.scrollY;
    if (place.current !== undefined && Math.abs(top - place.current) < MOVED_PX) return;
    place.current = top;
    armed.current = false;
    setArmed(false);
    cancel.current();
    cancel.current = clock.after(ARMING_MS, () => {
      armed.current = true;
      setArmed(true);
    });
  }, [clock]);

  // After each render of its own, and when anything else on the page changes its size.
  useLayoutEffect(check);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(check);
    observer.observe(document.body);
    return () => {
      observer.disconnect();
      cancel.current();
      place.current = undefined;
    };
  }, [check]);

  const whenArmed = (act: () => void) => () => {
    check();
    if (armed.current) act();
  };
  return { ref, isArmed, whenArmed };
}
