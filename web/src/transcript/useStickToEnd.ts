import { type RefObject, useCallback, useEffect, useRef } from "react";

/** Within this distance of the end, the reader is at the end. */
const NEAR_PX = 48;

interface StickOptions {
  /** Changes when the conversation grows; opening a detail does not count. */
  grown: string;
  /** Changes when the reader sends a message. */
  sent: string | undefined;
}

/**
 * Keeps the end of a conversation above the message box: when the conversation opens, when the reader sends a message,
 * and while it grows. A reader who scrolls up stays where they are until they return to the end.
 */
export function useStickToEnd({ grown, sent }: StickOptions): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const follow = useCallback(() => {
    if (isFollowing.current) end.current?.scrollIntoView({ block: "nearest" });
  }, []);
  useEffect(() => {
    let before = window.scrollY;
    const check = () => {
      const { top = 0 } = end.current?.getBoundingClientRect() ?? {};
      const isAtEnd = top < window.innerHeight + NEAR_PX;
      // A page that grows does not scroll up, so only the reader can leave the end.
      if (isAtEnd) isFollowing.current = true;
      else if (window.scrollY < before) isFollowing.current = false;
      before = window.scrollY;
    };
    window.addEventListener("scroll", check, { passive: true });
    return () => window.removeEventListener("scroll", check);
  }, []);
  useEffect(() => {
    // A message box that grows covers the end.
    const box = end.current?.closest("section")?.querySelector(".composer");
    const observer = new ResizeObserver(follow);
    if (box) observer.observe(box);
    return () => observer.disconnect();
  }, [follow]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a sent message is followed from anywhere
  useEffect(() => {
    isFollowing.current = true;
  }, [sent]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are what changes when the conversation grows
  useEffect(follow, [grown, sent]);
  return end;
}
