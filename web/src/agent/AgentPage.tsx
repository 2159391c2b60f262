import { useQuery } from "@tanstack/react-query";
import { type ComponentProps, useState } from "react";
import { decisionsQuery, moreLines, runQuery, TRANSCRIPT_LINES, transcriptQuery } from "../api/queries";
import type { AgentState } from "../api/types";
import { AgentCost } from "../budget/AgentCost";
import { ParkedCard } from "../budget/ParkedCard";
import { Decisions } from "../decision/Decisions";
import { Timeline } from "../event/Timeline";
import { labels } from "../labels";
import { type LiveText, liveText } from "../live/deltas";
import { Composer } from "../message/Composer";
import { useOutbox } from "../message/useOutbox";
import { RunList } from "../run/RunList";
import { useTitle } from "../shell/useTitle";
import { Subscriptions } from "../subscription/Subscriptions";
import { Conversation } from "../transcript/Conversation";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { WhyNotPanel } from "../why/WhyNotView";
import { AgentHeader } from "./AgentHeader";

interface AgentPageProps {
  state: AgentState;
  timeline: ComponentProps<typeof Timeline>;
  liveTexts: LiveText;
}

/** One agent: its conversation, runs, subscriptions, costs and events. */
export function AgentPage({ state, timeline, liveTexts }: AgentPageProps) {
  const { agent, queue, runs } = state;
  const [lines, setLines] = useState(TRANSCRIPT_LINES);
  const transcript = useQuery(transcriptQuery(agent.agent_id, lines));
  const more = moreLines(lines);
  const outbox = useOutbox(agent.agent_id, queue, transcript.data?.lines ?? []);
  // Only the run says why an agent is stuck.
  const isStuck = agent.activity === "stuck" && agent.open_run !== undefined;
  const parked = useQuery({ ...runQuery(agent.open_run ?? ""), enabled: isStuck }).data?.parked;
  const isParked = isStuck && parked !== undefined;
  const decisions = (useQuery(decisionsQuery).data ?? []).filter((one) => one.agent_id === agent.agent_id);
  useTitle(agent.agent_id);

  return (
    <>
      <AgentHeader agent={agent} isParked={isParked} />
      {isParked && (
        <div className="panel attention">
          <ParkedCard parked={parked} agentId={agent.agent_id} level={2} />
        </div>
      )}
      <nav className="jumps" aria-label={labels.agent.sections}>
        <a href="#conversation">{labels.transcript.title}</a>
        <a href="#runs">{labels.run.list}</a>
        <a href="#subscriptions">{labels.subscription.list}</a>
        <a href="#why-not">{labels.whyNot.title}</a>
        <a href="#cost">{labels.budget.cost}</a>
        <a href="#timeline">{labels.event.timeline}</a>
      </nav>
      <div className="columns">
        <div className="column">
          <section className="panel conversation" id="conversation" aria-labelledby="conversation-title">
            <h2 id="conversation-title">{labels.transcript.title}</h2>
            {transcript.error && !transcript.data && (
              <ErrorNotice
                action={labels.transcript.loadAction}
                error={transcript.error}
                onRetry={() => void transcript.refetch()}
              />
            )}
            {transcript.isPending && <Skeleton lines={5} label={labels.transcript.loading} />}
            {transcript.data && (
              <Conversation
                agent={agent}
                lines={transcript.data.lines}
                onOlder={transcript.data.has_more && more ? () => setLines(more) : undefined}
                live={liveText(liveTexts, agent.open_run)}
                queue={queue}
                outbox={outbox}
                asked={decisions.length}
              >
                {/* Where the run waits: at the end of the conversation, and not above what the reader looks at. */}
                <Decisions decisions={decisions} />
              </Conversation>
            )}
            <Composer agent={agent} onSend={outbox.send} />
          </section>
        </div>
        <div className="column side follows">
          <RunList agentId={agent.agent_id} runs={runs} />
          <Subscriptions agentId={agent.agent_id} />
          <WhyNotPanel agentId={agent.agent_id} />
          <AgentCost agentId={agent.agent_id} />
          <Timeline {...timeline} />
        </div>
      </div>
    </>
  );
}
