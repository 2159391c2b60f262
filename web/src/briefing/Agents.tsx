import { AgentCard } from "../agent/AgentCard";
import type { AgentStatus, Budget } from "../api/types";
import { todayOf } from "../budget/money";
import { type LiveText, liveText } from "../live/deltas";
import { Icon } from "../ui/Icon";

interface AgentsProps {
  agents: readonly AgentStatus[];
  budget: Budget | undefined;
  /** Those whose run waits for money. */
  parked: ReadonlySet<string>;
  liveTexts: LiveText;
  onCreate: () => void;
}

/** Everybody who lives here, as they stand. */
export function Agents({ agents, budget, parked, liveTexts, onCreate }: AgentsProps) {
  return (
    <section aria-labelledby="agents-title" className="panel">
      <header className="panel-head">
        <h2 id="agents-title">Agents</h2>
        <button type="button" className="button small" onClick={onCreate}>
          <Icon name="plus" /> New agent
        </button>
      </header>
      {agents.length === 0 ? (
        <div className="empty">
          <Icon name="dawn" />
          <p className="empty-title">Nobody lives here yet</p>
          <p>
            An agent has a name, a folder to work in and a memory that survives restarts. It sleeps until you write to
            it.
          </p>
          <button type="button" className="button primary" onClick={onCreate}>
            Create your first agent
          </button>
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
