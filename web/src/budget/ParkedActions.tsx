import type { Budget } from "../api/types";
import { formatClock } from "../text/time";
import { useNow } from "../text/useNow";
import { CapButton } from "./CapButton";

interface ParkedActionsProps {
  budget: Budget | undefined;
  /** The agent whose own cap stands in the way; absent when it is the cap of all. */
  agentId?: string;
}

/** The two ways out for a run that waits for money. Both are taken up by the daemon by itself. */
export function ParkedActions({ budget, agentId }: ParkedActionsProps) {
  const now = useNow();
  return (
    <div className="attention-actions">
      <CapButton budget={budget} agentId={agentId} label="Raise the cap" />
      <span className="quiet">
        or wait: it goes on by itself when the day turns
        {budget && (
          <>
            , at <time dateTime={budget.next_day_at}>{formatClock(budget.next_day_at, now)}</time>
          </>
        )}
        .
      </span>
    </div>
  );
}
