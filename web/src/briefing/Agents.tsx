import { AgentCard } from "../agent/AgentCard";
import type { AgentStatus, Budget } from "../api/types";
import { todayOf } from "../budget/money";
import { labels } from "../labels";
import { type LiveText, liveText } from "../live/deltas";
import { Link, newAgentPath } from "../shell/router";
import { Icon } from "../ui/Icon";

interface AgentsProps {
  agents: readonly AgentStatus[];
  budget: Budget | undefined;
  /** Agents whose run waits because a cap is reached. */
  parked: ReadonlySet<string>;
  liveTexts: LiveText;
}

/** All agents and what they do. */
export function Agents({ agents, budget, parked, liveTexts }: AgentsProps) {
  return (
    <section aria-labelledby="agents-title" className="panel">
      <header className="panel-head">
        <h2 id="agents-title">{labels.agent.list}</h2>
        <Link to={newAgentPath} className="button small">
          <Icon name="plus" /> {labels.agent.new}
        </Link>
      </header>
      {agents.length === 0 ? (
        <div className="empty">
          <Icon name="dawn" />
          <p className="empty-title">{labels.agent.none}</p>
          <p>{labels.agent.noneHint}</p>
          <Link to={newAgentPath} className="button primary">
            {labels.agent.createFirst}
          </Link>
        </div>
      ) : (
        <ul className="agent-cards">
          {agents.map((agent) => (
            <AgentCard
              key={agent.agent_id}
              agent={agent}
              today={todayOf(budget, agent.agent_id)}
              isParked={parked.has(agent.agent_id)}
              live={liveText(liveTexts, agent.open_run)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}
