import { statusText } from "./text";
import { barOf, type Row, type Waterfall } from "./waterfall";

interface StepBarProps {
  /** The steps on the bar: the attempts of a round, or one action. */
  rows: readonly Row[];
  totalMs: Waterfall["totalMs"];
}

/** When steps started and how long they took, relative to the whole run. The same is written beside it as text. */
export function StepBar({ rows, totalMs }: StepBarProps) {
  return (
    <svg className="step-bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {rows.map((row) => {
        const { start, width } = barOf(row, totalMs);
        const { tone } = statusText(row.step);
        return (
          <rect key={row.step.operation_id} className={`${tone} ${row.step.kind}`} x={start} width={width} height="1" />
        );
      })}
    </svg>
  );
}
