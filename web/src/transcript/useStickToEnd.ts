import { type RefObject, useEffect, useRef } from "react";

/** Closer to the end than this, a reader is taken to follow. */
const NEAR_PX = 160;

/** Keeps the end of a conversation in sight for whoever is there already, and never tears away one who reads above. */
export function useStickToEnd(mark: string): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null);
  const wasNear = useRef(false);
  useEffect(() => {
    const { top = 0 } = end.current?.getBoundingClientRect() ?? {};
    // A long conversation begins at its end; one that nearly fits is left where it is.
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
