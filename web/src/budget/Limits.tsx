import { useQuery } from "@tanstack/react-query";
import { limitsQuery } from "../api/queries";
import type { BudgetLimit } from "../api/types";
import { labels } from "../labels";
import { formatClock } from "../text/time";
import { useNow } from "../text/useNow";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { LimitButton } from "./LimitButton";
import { amountText, concerns, isDailyCap, limitName, limitUsage } from "./limit";
import { Meter } from "./Meter";
import { NewLimitButton } from "./NewLimitButton";

/** Every limit besides the daily caps, with its use and when it will be used up. Only those of an agent if it is given. */
export function Limits({ agentId }: { agentId?: string }) {
  const limits = useQuery(limitsQuery);
  const shown = limits.data?.filter((one) => !isDailyCap(one) && (agentId === undefined || concerns(one, agentId)));
  if (limits.error && !limits.data) {
    return (
      <ErrorNotice action={labels.budget.limitsAction} error={limits.error} onRetry={() => void limits.refetch()} />
    );
  }
  return (
    <section className="panel spending" aria-labelledby="limits-title">
      <header className="panel-head">
        <h2 id="limits-title">{labels.budget.limits}</h2>
        <NewLimitButton agentId={agentId} />
      </header>
      {/* The line is as high as the one that most people see afterwards, so nothing below it moves. */}
      {!shown && <p className="quiet">{labels.common.fetching}</p>}
      {shown?.length === 0 && <p className="quiet">{labels.budget.noLimits}</p>}
      <ul className="plain">
        {shown?.map((limit) => (
          <li key={limit.limit_id}>
            <LimitMeter limit={limit} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function LimitMeter({ limit }: { limit: BudgetLimit }) {
  const now = useNow();
  const { percent, usage } = limitUsage(limit);
  const name = limitName(limit);
  const max = `${amountText(limit.resource, limit.max)}${labels.budget.perPeriod[limit.period]}`;
  const reserved = limit.reserved > 0 ? labels.budget.reserved(amountText(limit.resource, limit.reserved)) : "";
  const text = `${labels.budget.amountOf(amountText(limit.resource, limit.used), max)}${reserved}`;
  return (
    <>
      <p className="spending-line">
        <b>{name}</b> {text} {usage === "near" && <Badge tone="warn">{labels.budget.nearLimit}</Badge>}
        {usage === "full" && <Badge tone="bad">{labels.budget.usedUp}</Badge>}
      </p>
      <Meter
        label={labels.budget.limitMeter(name)}
        text={labels.budget.percent(text, percent)}
        percent={percent}
        usage={usage}
      />
      {usage !== "full" && limit.exhausted_at && (
        <p className="quiet spending-foot">
          {labels.budget.exhaustedAt} <time dateTime={limit.exhausted_at}>{formatClock(limit.exhausted_at, now)}</time>.
        </p>
      )}
      <LimitButton limit={limit} />
    </>
  );
}
