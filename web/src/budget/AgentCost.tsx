import { useQuery } from "@tanstack/react-query";
import { budgetQuery, spendingQuery } from "../api/queries";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { CapButton } from "./CapButton";
import { Meter } from "./Meter";
import { capUsage, dollars, todayOf } from "./money";
import { SpendingByDay } from "./SpendingByDay";

/** What an agent costs: today, against its own cap where it has one, and in the last days. */
export function AgentCost({ agentId }: { agentId: string }) {
  const budget = useQuery(budgetQuery);
  const spending = useQuery(spendingQuery(agentId));
  const today = todayOf(budget.data, agentId);
  const thrown = spending.error ?? budget.error;
  const own = today?.capUsd === undefined ? undefined : capUsage(today.spentUsd, "0", today.capUsd);
  return (
    <section className="panel spending" id="cost" aria-labelledby="cost-title">
      <header className="panel-head">
        <h2 id="cost-title">Cost</h2>
        <CapButton
          budget={budget.data}
          agentId={agentId}
          label={today?.capUsd === undefined ? "Set a cap" : "Change its cap"}
        />
      </header>
      {thrown && !spending.data && (
        <ErrorNotice
          action="read what it costs"
          error={thrown}
          onRetry={() => void Promise.all([spending.refetch(), budget.refetch()])}
        />
      )}
      {!thrown && !today && <Skeleton lines={2} label="Loading what it costs" />}
      {today && (
        <p className="spending-line">
          <b>{dollars(today.spentUsd)}</b> today
          <span className="quiet">
            {today.capUsd === undefined ? ", under the cap of all agents" : ` of ${dollars(today.capUsd)} a day`}
          </span>
        </p>
      )}
      {today?.capUsd !== undefined && own && (
        <Meter
          label={`Spent by ${agentId} today, of its cap`}
          text={`${dollars(today.spentUsd)} of ${dollars(today.capUsd)}, ${own.percent} percent`}
          {...own}
        />
      )}
      {spending.data && spending.data.length === 0 && <p className="quiet">It has not cost anything yet.</p>}
      {spending.data && spending.data.length > 0 && <SpendingByDay days={spending.data} today={budget.data?.day} />}
    </section>
  );
}
