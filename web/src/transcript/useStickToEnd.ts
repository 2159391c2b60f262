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
  const scrolledTo = useRef(0);
  const check = useCallback(() => {
    const { top = 0 } = end.current?.getBoundingClientRect() ?? {};
    const isAtEnd = top < window.innerHeight + NEAR_PX;
    // A page that grows does not scroll up, so only the reader can leave the end.
    if (isAtEnd) isFollowing.current = true;
    else if (window.scrollY < scrolledTo.current) isFollowing.current = false;
    scrolledTo.current = window.scrollY;
  }, []);
  const follow = useCallback(() => {
    // The event of a scroll may come after the change that is followed.
    check();
    if (isFollowing.current) end.current?.scrollIntoView({ block: "nearest" });
  }, [check]);
  useEffect(() => {
    scrolledTo.current = window.scrollY;
    window.addEventListener("scroll", check, { passive: true });
    return () => window.removeEventListener("scroll", check);
  }, [check]);
  useEffect(() => {
    // A message box that grows covers the end.
    const box = end.current?.closest("section")?.querySelector(".composer");
    const observer = new ResizeObserver(follow);
    if (box) observer.observe(box);
    return () => observer.disconnect();
  }, [follow]);
  useEffect(() => {
    // A card that appears above the conversation moves its end below the message box. A detail that a person opens does not.
    const section = end.current?.closest("section");
    const topOf = () => (section?.getBoundingClientRect().top ?? 0) + window.scrollY;
    let before = topOf();
    const observer = new ResizeObserver(() => {
      const top = topOf();
      if (top !== before) follow();
      before = top;
    });
    observer.observe(document.body);
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
