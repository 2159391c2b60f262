import type { Budget } from "../api/types";
import { formatClock } from "../text/time";
import { useNow } from "../text/useNow";
import { Badge } from "../ui/Badge";
import { CapButton } from "./CapButton";
import { Meter } from "./Meter";
import { capUsage, dollars, isSpent } from "./money";

/** What all agents spent today of what they may, in a line and a bar. */
export function SpendingToday({ budget }: { budget: Budget }) {
  const now = useNow();
  const { spent_usd: spent, reserved_usd: reserved, daily_cap_usd: cap } = budget;
  const { percent, usage } = capUsage(spent, reserved, cap);
  const reservedText = isSpent(reserved) ? `, ${dollars(reserved)} put aside` : "";
  const text = `${dollars(spent)} of ${dollars(cap)}${reservedText}`;
  return (
    <section aria-labelledby="spending-title" className="panel spending">
      <header className="panel-head">
        <h2 id="spending-title">Spent today</h2>
        <CapButton budget={budget} label="Change the cap" />
      </header>
      <p className="spending-line">
        <b>{dollars(spent)}</b> of {dollars(cap)}
        {budget.cap_origin === "default" && <span className="quiet"> (the default cap)</span>}
        <span className="quiet">{reservedText}</span> {usage === "near" && <Badge tone="warn">close to the cap</Badge>}
        {usage === "full" && <Badge tone="bad">at the cap</Badge>}
      </p>
      <Meter
        label="Spent today, of the daily cap"
        text={`${text}, ${percent} percent`}
        percent={percent}
        usage={usage}
      />
      <p className="quiet spending-foot">
        {usage === "full" ? "Nothing that costs money begins before a new day does, at " : "A new day begins at "}
        <time dateTime={budget.next_day_at}>{formatClock(budget.next_day_at, now)}</time>.
      </p>
    </section>
  );
}
