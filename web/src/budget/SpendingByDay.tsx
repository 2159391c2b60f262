import type { DaySpending } from "../api/types";
import { labels } from "../labels";
import { formatDay } from "../text/time";
import { Bar } from "./Meter";
import { dollars, microOf } from "./money";

/** The days that are shown; the server keeps more. */
const DAYS_MAX = 14;

/** The costs of the last days, newest first. The bars are relative to the highest. */
export function SpendingByDay({ days, today }: { days: readonly DaySpending[]; today: string | undefined }) {
  const shown = days.slice(-DAYS_MAX).toReversed();
  const most = Math.max(1, ...shown.map((one) => microOf(one.spent_usd)));
  return (
    <ol className="days">
      {shown.map((one) => (
        <li key={one.day}>
          <time dateTime={one.day}>{one.day === today ? labels.budget.todayLabel : formatDay(one.day)}</time>
          <Bar percent={(microOf(one.spent_usd) / most) * 100} />
          <b>{dollars(one.spent_usd)}</b>
          <span className="quiet">{labels.budget.requests(one.requests)}</span>
        </li>
      ))}
    </ol>
  );
}
