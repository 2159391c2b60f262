import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getEventsBefore } from "../api/calls";
import { budgetQuery, eventsQuery, STANDING, stateQuery } from "../api/queries";
import type { Event } from "../api/types";
import { merge } from "../live/log";
import { useStream } from "../live/useStream";
import { RunPage } from "../run/RunPage";
import { PlainHead } from "../shell/PlainHead";
import { Skeleton } from "../ui/Skeleton";
import { Trouble } from "../ui/Trouble";
import { AgentPage } from "./AgentPage";

/** Everything about one agent hangs on one stream, whichever of its pages is open. */
export function AgentRoom({ agentId, runKey }: { agentId: string; runKey?: string }) {
  const client = useQueryClient();
  const state = useQuery(stateQuery(agentId));
  const log = useQuery(eventsQuery(agentId));
  const keep = (events: readonly Event[], afterSeq?: number) =>
    client.setQueryData(
      eventsQuery(agentId).queryKey,
      (before) => before && { events: merge(before.events, events), afterSeq: afterSeq ?? before.afterSeq },
    );
  const speech = useStream(`agent/${agentId}`, {
    address: (position) => `/api/agents/${encodeURIComponent(agentId)}/events?after_seq=${position}`,
    position: log.data && String(log.data.afterSeq),
    onEvents: (events, position) => keep(events, Number(position)),
    stale: (events) => [
      ["agent", agentId],
      budgetQuery.queryKey,
      ...STANDING,
      ...runsOf(events).map((key) => ["run", key]),
    ],
  });

  const oldest = log.data?.events[0]?.seq ?? 1;
  const older = useMutation({
    mutationFn: () => getEventsBefore(agentId, oldest),
    onSuccess: (page) => keep(page.events),
  });

  if (!state.data) {
    return (
      <>
        <PlainHead title={agentId} />
        {state.error ? (
          <Trouble doing={`open ${agentId}`} thrown={state.error} onRetry={() => void state.refetch()} />
        ) : (
          <Skeleton lines={8} label={`Loading ${agentId}`} />
        )}
      </>
    );
  }
  if (runKey) return <RunPage agent={state.data.agent} runKey={runKey} speech={speech} />;
  const timeline = {
    events: log.data?.events ?? [],
    onOlder: oldest > 1 ? () => older.mutate() : undefined,
    isFetching: older.isPending,
  };
  return <AgentPage state={state.data} timeline={timeline} speech={speech} />;
}

function runsOf(events: readonly Event[]): string[] {
  return [...new Set(events.flatMap((event) => event.run_key ?? []))];
}
