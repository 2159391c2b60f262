import type { Budget } from "../api/types";
import { labels } from "../labels";
import { formatClock } from "../text/time";
import { useNow } from "../text/useNow";
import { CapButton } from "./CapButton";

interface ParkedActionsProps {
  budget: Budget | undefined;
  /** The agent whose own cap is reached; absent when it is the cap of all agents. */
  agentId?: string;
}

/** The two ways to continue a parked run. The daemon continues it by itself after either. */
export function ParkedActions({ budget, agentId }: ParkedActionsProps) {
  const now = useNow();
  return (
    <>
      <CapButton budget={budget} agentId={agentId} label={labels.budget.raiseCap} isInCard />
      <span className="quiet">
        {labels.budget.orWait}
        {budget && (
          <>
            {labels.budget.orWaitAt} <time dateTime={budget.next_day_at}>{formatClock(budget.next_day_at, now)}</time>
          </>
        )}
        .
      </span>
    </>
  );
}
