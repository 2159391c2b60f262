import type { Budget } from "../api/types";
import { clock } from "../text/time";
import { useNow } from "../text/useNow";
import { Badge } from "../ui/Badge";
import { CapButton } from "./CapButton";
import { Meter } from "./Meter";
import { dollars, filled, isSpent } from "./money";

/** What all agents spent today of what they may, in a line and a bar. */
export function SpendingToday({ budget }: { budget: Budget }) {
  const now = useNow();
  const { spent_usd: spent, reserved_usd: reserved, daily_cap_usd: cap } = budget;
  const { percent, fill } = filled(spent, reserved, cap);
  const aside = isSpent(reserved) ? `, ${dollars(reserved)} put aside` : "";
  const words = `${dollars(spent)} of ${dollars(cap)}${aside}`;
  return (
    <section aria-labelledby="spending-title" className="panel spending">
      <header className="panel-head">
        <h2 id="spending-title">Spent today</h2>
        <CapButton budget={budget} words="Change the cap" />
      </header>
      <p className="spending-line">
        <b>{dollars(spent)}</b> of {dollars(cap)}
        {budget.cap_origin === "default" && <span className="quiet"> (the default cap)</span>}
        <span className="quiet">{aside}</span> {fill === "near" && <Badge tone="warn">close to the cap</Badge>}
        {fill === "full" && <Badge tone="bad">at the cap</Badge>}
      </p>
      <Meter
        label="Spent today, of the daily cap"
        text={`${words}, ${percent} percent`}
        percent={percent}
        fill={fill}
      />
      <p className="quiet spending-foot">
        {fill === "full" ? "Nothing that costs money begins before a new day does, at " : "A new day begins at "}
        <time dateTime={budget.next_day_at}>{clock(budget.next_day_at, now)}</time>.
      </p>
    </section>
  );
}
