import { useQuery } from "@tanstack/react-query";
import { executionsQuery } from "../api/queries";
import type { Schedule, ScheduledExecution } from "../api/types";
import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";
import { executionText, executionTone } from "./execution";

/** The newest firings of a schedule, each with its run if there is one. */
export function ScheduleHistory({ schedule }: { schedule: Schedule }) {
  const history = useQuery(executionsQuery(schedule.schedule_id));
  if (!history.data) {
    return history.error ? (
      <ErrorNotice
        action={labels.schedule.historyAction}
        error={history.error}
        onRetry={() => void history.refetch()}
      />
    ) : (
      <Skeleton lines={3} label={labels.schedule.historyLoading} />
    );
  }
  if (history.data.length === 0) return <p className="quiet">{labels.schedule.historyNone}</p>;
  return (
    <ol className="history" aria-label={labels.schedule.history}>
      {history.data.map((one) => (
        <Execution key={one.seq} one={one} agentId={schedule.agent_id} />
      ))}
    </ol>
  );
}

function Execution({ one, agentId }: { one: ScheduledExecution; agentId: string }) {
  return (
    <li>
      <Badge tone={executionTone(one)}>{executionText(one)}</Badge> <Time at={one.due_at} />{" "}
      <span className="quiet">
        {labels.schedule.sources[one.trigger_source]}
        {one.firing_count > 1 && ` · ${labels.schedule.times(one.firing_count)}`}
      </span>{" "}
      {/* A firing that has not started yet, or that was absorbed, has no run to show. */}
      {one.run_key && one.run_status && <Link to={runPath(agentId, one.run_key)}>{labels.schedule.viewRun}</Link>}
    </li>
  );
}
