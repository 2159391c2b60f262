import type { Budget } from "../api/types";
import { clock } from "../text/time";
import { useNow } from "../text/useNow";
import { CapButton } from "./CapButton";

interface ParkedWaysProps {
  budget: Budget | undefined;
  /** The agent whose own cap stands in the way; absent when it is the cap of all. */
  agentId?: string;
}

/** The two ways out for a run that waits for money. Both are taken up by the daemon by itself. */
export function ParkedWays({ budget, agentId }: ParkedWaysProps) {
  const now = useNow();
  return (
    <div className="need-acts">
      <CapButton budget={budget} agentId={agentId} words="Raise the cap" />
      <span className="quiet">
        or wait: it goes on by itself when the day turns
        {budget && (
          <>
            , at <time dateTime={budget.next_day_at}>{clock(budget.next_day_at, now)}</time>
          </>
        )}
        .
      </span>
    </div>
  );
}
