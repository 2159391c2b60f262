import type { RunSummary } from "../api/types";
import { dollars, isSpent } from "../budget/money";
import { labels } from "../labels";
import { agentPath, Link, runPath } from "../shell/router";
import { oneLine } from "../text/number";
import { formatDuration } from "../text/time";
import { Badge } from "../ui/Badge";
import { Time } from "../ui/Time";
import { runState } from "./text";

const PREVIEW_CHARS_MAX = 90;

/** Runs of several agents. */
export function RunTable({ runs, isStale }: { runs: readonly RunSummary[]; isStale: boolean }) {
  const { columns } = labels.run;
  return (
    <div className="panel run-table" aria-busy={isStale}>
      <table className="table">
        <caption className="hidden">{labels.run.list}</caption>
        <thead>
          <tr>
            <th scope="col">{columns.message}</th>
            <th scope="col">{columns.status}</th>
            <th scope="col">{columns.agent}</th>
            <th scope="col">{columns.cause}</th>
            <th scope="col">{columns.started}</th>
            <th scope="col" className="number">
              {columns.duration}
            </th>
            <th scope="col" className="number">
              {columns.cost}
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.run_key} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunRow({ run }: { run: RunSummary }) {
  const { agent_id: agentId, run_key: runKey, cause_kind: cause, duration_ms: duration } = run;
  const state = runState(run.status, run.waiting_for);
  return (
    <tr>
      <th scope="row">
        <Link to={runPath(agentId, runKey)}>
          {oneLine(run.preview ?? `${labels.run.key} ${runKey.slice(0, 12)}`, PREVIEW_CHARS_MAX)}
        </Link>
      </th>
      <td>
        <Badge tone={state.tone}>{state.text}</Badge>
      </td>
      <td>
        <Link to={agentPath(agentId)}>{agentId}</Link>
      </td>
      <td className="quiet">{cause && labels.cause.shortKinds[cause]}</td>
      <td className="quiet">
        <Time at={run.started_at} />
      </td>
      <td className="quiet number">{duration !== undefined && formatDuration(duration)}</td>
      <td className="quiet number">{isSpent(run.cost_usd) && dollars(run.cost_usd)}</td>
    </tr>
  );
}
