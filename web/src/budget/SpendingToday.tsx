import type { Budget } from "../api/types";
import { labels } from "../labels";
import { formatClock } from "../text/time";
import { useNow } from "../text/useNow";
import { Badge } from "../ui/Badge";
import { CapButton } from "./CapButton";
import { Meter } from "./Meter";
import { capUsage, dollars, isSpent } from "./money";

/** What all agents spent today, against the daily cap. */
export function SpendingToday({ budget }: { budget: Budget }) {
  const now = useNow();
  const { spent_usd: spent, reserved_usd: reserved, daily_cap_usd: cap } = budget;
  const { percent, usage } = capUsage(spent, reserved, cap);
  const reservedText = isSpent(reserved) ? labels.budget.reserved(dollars(reserved)) : "";
  const text = `${labels.budget.amountOf(dollars(spent), dollars(cap))}${reservedText}`;
  return (
    <section aria-labelledby="spending-title" className="panel spending">
      <header className="panel-head">
        <h2 id="spending-title">{labels.budget.spentToday}</h2>
        <CapButton budget={budget} label={labels.budget.changeCap} />
      </header>
      <p className="spending-line">
        <b>{dollars(spent)}</b> {labels.budget.of} {dollars(cap)}
        {budget.cap_origin === "default" && <span className="quiet"> {labels.budget.defaultCap}</span>}
        <span className="quiet">{reservedText}</span>{" "}
        {usage === "near" && <Badge tone="warn">{labels.budget.nearCap}</Badge>}
        {usage === "full" && <Badge tone="bad">{labels.budget.reached}</Badge>}
      </p>
      <Meter
        label={labels.budget.meterAll}
        text={labels.budget.percent(text, percent)}
        percent={percent}
        usage={usage}
      />
      <p className="quiet spending-foot">
        {usage === "full" ? labels.budget.resumesAt : labels.budget.resetsAt}{" "}
        <time dateTime={budget.next_day_at}>{formatClock(budget.next_day_at, now)}</time>.
      </p>
    </section>
  );
}
