import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { pauseAgent, resumeAgent } from "../api/calls";
import { keys } from "../api/keys";
import { brakesQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { BrakeButton } from "../brake/BrakeButton";
import { brakeOf } from "../brake/brake";
import { NotDurableNote } from "../brake/NotDurableNote";
import { labels } from "../labels";
import { briefingPath, editAgentPath, Link } from "../shell/router";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import { activityView, usageText } from "./activity";
import { ModelFact } from "./ModelFact";
import { SecretsFact } from "./SecretsFact";

/** The name and activity of an agent, buttons to pause and brake it, its workspace, model and usage. */
export function AgentHeader({ agent, isParked }: { agent: AgentStatus; isParked: boolean }) {
  const client = useQueryClient();
  const brake = brakeOf(useQuery(brakesQuery).data, agent.agent_id);
  const isPaused = agent.control === "paused";
  const toggling = useMutation({
    mutationFn: () => (isPaused ? resumeAgent(agent.agent_id) : pauseAgent(agent.agent_id)),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.agent(agent.agent_id) }),
  });
  const { sentence, icon, tone } = activityView(agent, isParked);
  return (
    <div className="page-head">
      <nav aria-label={labels.common.breadcrumbs} className="crumbs">
        <Link to={briefingPath}>{labels.common.briefing}</Link>
      </nav>
      <div className="agent-head">
        <span className={`orb large ${tone}`}>
          <Icon name={icon} />
        </span>
        <div className="agent-head-text">
          <h1 tabIndex={-1}>{agent.agent_id}</h1>
          <p className="lede" role="status">
            {labels.agent.status(agent.agent_id, sentence)}
          </p>
        </div>
        <div className="agent-head-actions">
          <button type="button" className="button" onClick={() => toggling.mutate()} disabled={toggling.isPending}>
            <Icon name={isPaused ? "play" : "pause"} /> {isPaused ? labels.agent.resume : labels.agent.pause}
          </button>
          <BrakeButton agentId={agent.agent_id} />
          <Link to={editAgentPath(agent.agent_id)} className="button small">
            <Icon name="tool" /> {labels.agent.settings}
          </Link>
        </div>
      </div>
      <NotDurableNote notDurable={brake?.not_durable} />
      {toggling.error && (
        <ErrorNotice
          action={(isPaused ? labels.agent.resumeAction : labels.agent.pauseAction)(agent.agent_id)}
          error={toggling.error}
        />
      )}
      <dl className="facts">
        <div>
          <dt>{labels.agent.workspace}</dt>
          <dd>
            <code>{agent.workspace}</code>
          </dd>
        </div>
        <ModelFact agent={agent} />
        <SecretsFact agentId={agent.agent_id} />
        <div>
          <dt>{labels.agent.usage}</dt>
          <dd title={labels.agent.usageTitle(agent.token_usage.input_tokens, agent.token_usage.output_tokens)}>
            {usageText(agent)}
          </dd>
        </div>
        <div>
          <dt>{labels.agent.created}</dt>
          <dd>
            <Time at={agent.created_at} />
          </dd>
        </div>
      </dl>
    </div>
  );
}
