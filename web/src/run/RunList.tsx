import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getRuns } from "../api/calls";
import { keys } from "../api/keys";
import type { RunSummary } from "../api/types";
import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { previewText } from "../text/preview";
import { formatDuration } from "../text/time";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";
import { runState } from "./text";

/** The runs that are shown before the reader asks for all. */
const FEW = 6;
const PREVIEW_CHARS_MAX = 60;

/** The runs of an agent, newest first. A few come with its state; the rest are loaded on request. */
export function RunList({ agentId, runs }: { agentId: string; runs: readonly RunSummary[] }) {
  const [isAll, setAll] = useState(false);
  const all = useInfiniteQuery({
    queryKey: keys.agentRuns(agentId),
    queryFn: ({ pageParam }) => getRuns(agentId, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_before,
    enabled: isAll,
  });
  const shown = (isAll && all.data?.pages.flatMap((page) => page.runs)) || runs.slice(0, FEW);
  return (
    <section className="panel" aria-labelledby="runs-title" id="runs">
      <header className="panel-head">
        <h2 id="runs-title">{labels.run.list}</h2>
      </header>
      {runs.length === 0 && <p className="quiet">{labels.run.none}</p>}
      <ol className="run-list">
        {shown.map((run) => (
          <RunRow key={run.run_key} agentId={agentId} run={run} />
        ))}
      </ol>
      {all.error && <ErrorNotice action={labels.run.listAction} error={all.error} onRetry={() => void all.refetch()} />}
      {!isAll && runs.length > FEW && (
        <button type="button" className="button small" onClick={() => setAll(true)}>
          {labels.run.showAll}
        </button>
      )}
      {isAll && all.hasNextPage && (
        <button
          type="button"
          className="button small"
          onClick={() => void all.fetchNextPage()}
          disabled={all.isFetching}
        >
          {labels.common.showOlder}
        </button>
      )}
    </section>
  );
}

function RunRow({ agentId, run }: { agentId: string; run: RunSummary }) {
  const state = runState(run.status, run.waiting_for);
  const took = run.ended_at && formatDuration(Date.parse(run.ended_at) - Date.parse(run.started_at));
  return (
    <li className="run-row">
      <Link to={runPath(agentId, run.run_key)} className="stretched">
        {previewText(run.preview ?? `${labels.run.key} ${run.run_key.slice(0, 12)}`, PREVIEW_CHARS_MAX)}
      </Link>
      <span className="run-row-foot">
        <Badge tone={state.tone}>{state.text}</Badge> <Time at={run.started_at} />
        {took && ` · ${took}`}
      </span>
    </li>
  );
}
