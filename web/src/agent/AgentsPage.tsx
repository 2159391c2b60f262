import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";
import { agentPath, editAgentPath, Link, newAgentPath } from "../shell/router";
import { visibleText } from "../text/visible";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import { Listing } from "../ui/Listing";
import { activityView } from "./activity";

/** All agents, each with a link to its settings. */
export default function AgentsPage() {
  const agents = useQuery(agentsQuery);
  return (
    <>
      <div className="toolbar">
        <p className="lede">{labels.agent.listHint}</p>
        <Link to={newAgentPath} className="button primary">
          <Icon name="plus" /> {labels.agent.new}
        </Link>
      </div>
      <Listing
        list={agents}
        action={labels.agent.listAction}
        loading={labels.agent.loadingList}
        icon="dawn"
        none={labels.agent.none}
        noneHint={labels.agent.noneHint}
      >
        {(entries) => (
          <ul className="entries">
            {entries.map((agent) => (
              <AgentRow key={agent.agent_id} agent={agent} />
            ))}
          </ul>
        )}
      </Listing>
    </>
  );
}

function AgentRow({ agent }: { agent: AgentStatus }) {
  const { label, tone } = activityView(agent, false);
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h2>
          <Link to={agentPath(agent.agent_id)}>{agent.agent_id}</Link>
        </h2>
        <Badge tone={tone}>{label}</Badge>
        <Link to={editAgentPath(agent.agent_id)} className="button entry-edit">
          {labels.common.edit} <span className="hidden">{agent.agent_id}</span>
        </Link>
      </div>
      {agent.description && <p>{visibleText(agent.description)}</p>}
      <p className="entry-facts">
        <span>{agent.model ?? labels.agentForm.modelDefault}</span>
        <code>{agent.workspace}</code>
      </p>
    </li>
  );
}
