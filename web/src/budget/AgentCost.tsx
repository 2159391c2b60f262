import { useQuery } from "@tanstack/react-query";
import { budgetQuery, spendingQuery } from "../api/queries";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { CapButton } from "./CapButton";
import { Meter } from "./Meter";
import { capUsage, dollars, todayOf } from "./money";
import { SpendingByDay } from "./SpendingByDay";

/** What an agent costs: today, against its own cap if it has one, and in the last days. */
export function AgentCost({ agentId }: { agentId: string }) {
  const budget = useQuery(budgetQuery);
  const spending = useQuery(spendingQuery(agentId));
  const today = todayOf(budget.data, agentId);
  const thrown = spending.error ?? budget.error;
  const own = today?.capUsd === undefined ? undefined : capUsage(today.spentUsd, "0", today.capUsd);
  return (
    <section className="panel spending" id="cost" aria-labelledby="cost-title">
      <header className="panel-head">
        <h2 id="cost-title">{labels.budget.cost}</h2>
        <CapButton
          budget={budget.data}
          agentId={agentId}
          label={today?.capUsd === undefined ? labels.budget.setCap : labels.budget.changeCap}
        />
      </header>
      {thrown && !spending.data && (
        <ErrorNotice
          action={labels.budget.costAction}
          error={thrown}
          onRetry={() => void Promise.all([spending.refetch(), budget.refetch()])}
        />
      )}
      {!thrown && !today && <Skeleton lines={2} label={labels.budget.loading} />}
      {today && (
        <p className="spending-line">
          <b>{dollars(today.spentUsd)}</b> {labels.budget.today}
          <span className="quiet">
            {today.capUsd === undefined ? labels.budget.sharedCap : labels.budget.ofPerDay(dollars(today.capUsd))}
          </span>
        </p>
      )}
      {today?.capUsd !== undefined && own && (
        <Meter
          label={labels.budget.meterAgent(agentId)}
          text={labels.budget.percent(
            labels.budget.amountOf(dollars(today.spentUsd), dollars(today.capUsd)),
            own.percent,
          )}
          {...own}
        />
      )}
      {spending.data && spending.data.length === 0 && <p className="quiet">{labels.budget.noCosts}</p>}
      {spending.data && spending.data.length > 0 && <SpendingByDay days={spending.data} today={budget.data?.day} />}
    </section>
  );
}
