import { useQuery } from "@tanstack/react-query";
import { limitsQuery } from "../api/queries";
import type { Budget } from "../api/types";
import { labels } from "../labels";
import { formatClock } from "../text/time";
import { useNow } from "../text/useNow";
import { CapButton } from "./CapButton";
import { LimitButton } from "./LimitButton";

/** The ways to continue a run that a limit other than the daily cap holds. */
export function LimitActions({ limitId, until }: { limitId?: string; until?: string }) {
  const now = useNow();
  const limits = useQuery(limitsQuery);
  const limit = limits.data?.find((one) => one.limit_id === limitId);
  return (
    <>
      {limit && <LimitButton limit={limit} />}
      {until && (
        <span className="quiet">
          {labels.budget.orWaitForPeriod}
          {labels.budget.orWaitAt} <time dateTime={until}>{formatClock(until, now)}</time>.
        </span>
      )}
    </>
  );
}

interface ParkedActionsProps {
  budget: Budget | undefined;
  /** The agent whose own cap is reached; absent when it is the cap of all agents. */
  agentId?: string;
  /** Whether the request fits under the cap of another day. */
  canWait: boolean;
}

/** How a parked run continues. The daemon continues it by itself after either. */
export function ParkedActions({ budget, agentId, canWait }: ParkedActionsProps) {
  const now = useNow();
  return (
    <>
      <CapButton budget={budget} agentId={agentId} label={labels.budget.raiseCap} isInCard />
      {canWait ? (
        <span className="quiet">
          {labels.budget.orWait}
          {budget && (
            <>
              {labels.budget.orWaitAt} <time dateTime={budget.next_day_at}>{formatClock(budget.next_day_at, now)}</time>
            </>
          )}
          .
        </span>
      ) : (
        <span className="quiet">{labels.budget.noWait}</span>
      )}
    </>
  );
}
