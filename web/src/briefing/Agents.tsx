import { AgentCard } from "../agent/AgentCard";
import type { AgentStatus, Budget } from "../api/types";
import { todayOf } from "../budget/money";
import { type Speech, spoken } from "../live/speech";
import { Glyph } from "../ui/Glyph";

interface AgentsProps {
  agents: readonly AgentStatus[];
  budget: Budget | undefined;
  /** Those whose run waits for money. */
  parked: ReadonlySet<string>;
  speech: Speech;
  onCreate: () => void;
}

/** Everybody who lives here, as they stand. */
export function Agents({ agents, budget, parked, speech, onCreate }: AgentsProps) {
  return (
    <section aria-labelledby="agents-title" className="panel">
      <header className="panel-head">
        <h2 id="agents-title">Agents</h2>
        <button type="button" className="button small" onClick={onCreate}>
          <Glyph name="plus" /> New agent
        </button>
      </header>
      {agents.length === 0 ? (
        <div className="empty">
          <Glyph name="dawn" />
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
              spoken={spoken(speech, agent.open_run)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}
