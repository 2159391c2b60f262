import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getEventsBefore } from "../api/calls";
import { ATTENTION_KEYS, keys } from "../api/keys";
import { eventsQuery, stateQuery } from "../api/queries";
import type { Event } from "../api/types";
import { labels } from "../labels";
import { merge, runKeysOf } from "../live/log";
import { useStream } from "../live/useStream";
import { RunPage } from "../run/RunPage";
import { PlainHeader } from "../shell/PlainHeader";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { AgentPage } from "./AgentPage";

/** Follows the event stream of one agent, for its own page and the pages of its runs. */
export default function AgentStreamProvider({ agentId, runKey }: { agentId: string; runKey?: string }) {
  const client = useQueryClient();
  const state = useQuery(stateQuery(agentId));
  const log = useQuery(eventsQuery(agentId));
  const addEvents = (events: readonly Event[], afterSeq?: number) =>
    client.setQueryData(
      eventsQuery(agentId).queryKey,
      (before) => before && { events: merge(before.events, events), afterSeq: afterSeq ?? before.afterSeq },
    );
  const liveTexts = useStream(`agent/${agentId}`, {
    address: (position) => `/api/agents/${encodeURIComponent(agentId)}/events?after_seq=${position}`,
    position: log.data && String(log.data.afterSeq),
    onEvents: (events, position) => addEvents(events, Number(position)),
    stale: (events) => [keys.agent(agentId), keys.budget(), ...ATTENTION_KEYS, ...runKeysOf(events).map(keys.run)],
  });

  const oldest = log.data?.events[0]?.seq ?? 1;
  const older = useMutation({
    mutationFn: () => getEventsBefore(agentId, oldest),
    onSuccess: (page) => addEvents(page.events),
  });

  if (!state.data) {
    return (
      <>
        <PlainHeader title={agentId} />
        {state.error ? (
          <ErrorNotice
            action={labels.agent.loadAction(agentId)}
            error={state.error}
            onRetry={() => void state.refetch()}
          />
        ) : (
          <Skeleton lines={8} label={labels.agent.loading(agentId)} />
        )}
      </>
    );
  }
  if (runKey) return <RunPage agent={state.data.agent} runKey={runKey} liveTexts={liveTexts} />;
  const timeline = {
    events: log.data?.events ?? [],
    onOlder: oldest > 1 ? () => older.mutate() : undefined,
    isFetching: older.isPending,
  };
  return <AgentPage state={state.data} timeline={timeline} liveTexts={liveTexts} />;
}
