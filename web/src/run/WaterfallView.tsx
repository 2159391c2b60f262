import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { runQuery } from "../api/queries";
import type { Run } from "../api/types";
import { labels } from "../labels";
import { formatDuration } from "../text/time";
import { useNow } from "../text/useNow";
import { Badge } from "../ui/Badge";
import { StepDetail } from "./StepDetail";
import { statusText } from "./text";
import { barOf, type Row, waterfallOf } from "./waterfall";

/** The steps of a run on a time line, as a table. Selecting one shows its input and output. */
export function WaterfallView({ run }: { run: Run }) {
  const now = useNow();
  const children = useQueries({ queries: (run.children ?? []).map((child) => runQuery(child.run_key)) });
  const { rows, totalMs } = waterfallOf(
    run,
    children.flatMap((child) => child.data ?? []),
    now,
  );
  const [selectedId, select] = useState<string>();
  const selected = rows.find((row) => row.id === selectedId);
  const { columns } = labels.waterfall;
  if (rows.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="waterfall-title">
      <header className="panel-head">
        <h2 id="waterfall-title">{labels.waterfall.title}</h2>
        <span className="quiet">{labels.waterfall.total(formatDuration(totalMs))}</span>
      </header>
      <div className="waterfall-frame">
        <table className="waterfall">
          <caption className="hidden">{labels.waterfall.caption}</caption>
          <thead>
            <tr>
              <th scope="col">{columns.step}</th>
              <th scope="col" className="number">
                {columns.start}
              </th>
              <th scope="col" className="number">
                {columns.duration}
              </th>
              <th scope="col">{columns.bar}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <StepRow
                key={row.id}
                row={row}
                totalMs={totalMs}
                isSelected={row.id === selectedId}
                onSelect={() => select(row.id === selectedId ? undefined : row.id)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {selected ? (
        <StepDetail key={selected.id} row={selected} run={run} />
      ) : (
        <p className="quiet">{labels.waterfall.hint}</p>
      )}
    </section>
  );
}

interface StepRowProps {
  row: Row;
  totalMs: number;
  isSelected: boolean;
  onSelect: () => void;
}

function StepRow({ row, totalMs, isSelected, onSelect }: StepRowProps) {
  const { step, depth, agentId } = row;
  const { text, tone } = statusText(step);
  const { start, width } = barOf(row, totalMs);
  const name = step.kind === "model" ? labels.waterfall.round(row.round, step.name) : step.name;
  return (
    <tr className={isSelected ? "selected" : undefined}>
      <th scope="row" className={depth === 1 ? "nested" : undefined}>
        <button type="button" className="row-button" aria-expanded={isSelected} onClick={onSelect}>
          <span>
            {depth === 1 && <span className="quiet">{agentId}: </span>}
            {name}
          </span>{" "}
          <Badge tone={tone}>{text}</Badge>
        </button>
      </th>
      <td className="number quiet">{labels.waterfall.offset(formatDuration(row.offsetMs))}</td>
      <td className="number">{formatDuration(row.durationMs)}</td>
      <td className="waterfall-bar">
        <svg
          className={`bar ${tone} ${step.kind}`}
          viewBox="0 0 100 1"
          preserveAspectRatio="none"
          aria-hidden="true"
          focusable="false"
        >
          <rect x={start} width={width} height="1" />
        </svg>
      </td>
    </tr>
  );
}
