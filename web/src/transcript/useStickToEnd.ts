import { type RefObject, useEffect, useRef } from "react";

/** Within this distance of the end, the reader is following the conversation. */
const NEAR_PX = 160;

/** Scrolls along with a growing conversation while the reader is at its end, and never from further up. */
export function useStickToEnd(mark: string): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null);
  const wasNear = useRef(false);
  useEffect(() => {
    const { top = 0 } = end.current?.getBoundingClientRect() ?? {};
    // A long conversation opens at its end; one that nearly fits stays at its start.
    if (top > window.innerHeight * 1.5) end.current?.scrollIntoView({ block: "nearest" });
  }, []);
  useEffect(() => {
    const check = () => {
      const { top = Infinity } = end.current?.getBoundingClientRect() ?? {};
      wasNear.current = top < window.innerHeight + NEAR_PX;
    };
    window.addEventListener("scroll", check, { passive: true });
    return () => window.removeEventListener("scroll", check);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mark is what changes when the conversation grows
  useEffect(() => {
    if (wasNear.current) end.current?.scrollIntoView({ block: "nearest" });
  }, [mark]);
  return end;
}
