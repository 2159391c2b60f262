import type { DaySpending } from "../api/types";
import { pluralize } from "../text/number";
import { formatDay } from "../text/time";
import { Bar } from "./Meter";
import { dollars, microOf } from "./money";

/** Days that are shown; the server keeps more. */
const DAYS_MAX = 14;

/** What the last days cost, newest first. The bars compare them with the dearest; the amounts are there for all. */
export function SpendingByDay({ days, today }: { days: readonly DaySpending[]; today: string | undefined }) {
  const shown = days.slice(-DAYS_MAX).toReversed();
  const most = Math.max(1, ...shown.map((one) => microOf(one.spent_usd)));
  return (
    <ol className="days">
      {shown.map((one) => (
        <li key={one.day}>
          <time dateTime={one.day}>{one.day === today ? "Today" : formatDay(one.day)}</time>
          <Bar percent={(microOf(one.spent_usd) / most) * 100} />
          <b>{dollars(one.spent_usd)}</b>
          <span className="quiet">{pluralize(one.requests, "request")}</span>
        </li>
      ))}
    </ol>
  );
}
