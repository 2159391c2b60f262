import { type ReactNode, useContext, useEffect, useRef } from "react";
import { labels } from "../labels";
import { ClockContext } from "../ui/clock";
import { ARMING_MS } from "../ui/useArming";

interface HeldCardProps {
  /** Whether the item of the card has left the list. */
  isGone: boolean;
  /** Whether the pointer is on the list: a click could still be meant for this card. */
  isPointed: boolean;
  /** Gives up the place. */
  onEnd: () => void;
  children: ReactNode;
}

/** A card that keeps its place after its item has ended: inert, until the pointer has left the list for a moment. */
export function HeldCard({ isGone, isPointed, onEnd, children }: HeldCardProps) {
  const clock = useContext(ClockContext);
  const latest = useRef(onEnd);
  latest.current = onEnd;
  useEffect(() => {
    if (isGone && !isPointed) return clock.after(ARMING_MS, () => latest.current());
  }, [isGone, isPointed, clock]);
  return (
    <div className={isGone ? "held-card gone" : "held-card"}>
      <div inert={isGone}>{children}</div>
      {isGone && (
        <p className="held-end" role="status">
          {labels.attention.ended}
        </p>
      )}
    </div>
  );
}
