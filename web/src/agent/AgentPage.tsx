import { useQuery } from "@tanstack/react-query";
import type { ComponentProps } from "react";
import { decisionsQuery, runQuery } from "../api/queries";
import type { AgentState } from "../api/types";
import { AgentCost } from "../budget/AgentCost";
import { Limits } from "../budget/Limits";
import { ParkedCard } from "../budget/ParkedCard";
import { Timeline } from "../event/Timeline";
import { labels } from "../labels";
import type { LiveText } from "../live/deltas";
import { AgentPolicies } from "../policy/AgentPolicies";
import { RunList } from "../run/RunList";
import { useSearch } from "../shell/router";
import { useTitle } from "../shell/useTitle";
import { Subscriptions } from "../subscription/Subscriptions";
import { ConversationPanel } from "../transcript/ConversationPanel";
import { threadOfSearch } from "../transcript/thread";
import { WhyNotPanel } from "../why/WhyNotView";
import { AgentHeader } from "./AgentHeader";

interface AgentPageProps {
  state: AgentState;
  timeline: ComponentProps<typeof Timeline>;
  liveTexts: LiveText;
}

/** One agent: its conversations, runs, subscriptions, costs and events. */
export function AgentPage({ state, timeline, liveTexts }: AgentPageProps) {
  const { agent, runs } = state;
  const thread = threadOfSearch(useSearch());
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
        <a href="#policies">{labels.policy.list}</a>
        <a href="#why-not">{labels.whyNot.title}</a>
        <a href="#cost">{labels.budget.cost}</a>
        <a href="#timeline">{labels.event.timeline}</a>
      </nav>
      <div className="columns">
        <div className="column">
          <ConversationPanel key={thread} state={state} thread={thread} liveTexts={liveTexts} decisions={decisions} />
        </div>
        <div className="column side follows">
          <RunList agentId={agent.agent_id} runs={runs} />
          <Subscriptions agentId={agent.agent_id} />
          <AgentPolicies agentId={agent.agent_id} />
          <WhyNotPanel agentId={agent.agent_id} />
          <AgentCost agentId={agent.agent_id} />
          <Limits agentId={agent.agent_id} />
          <Timeline {...timeline} />
        </div>
      </div>
    </>
  );
}
