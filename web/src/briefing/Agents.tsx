import { useRef, useState } from "react";
import { AgentCard } from "../agent/AgentCard";
import { sortByNeed } from "../agent/need";
import type { AgentStatus, Budget } from "../api/types";
import { todayOf } from "../budget/money";
import { labels } from "../labels";
import { type LiveText, liveText } from "../live/deltas";
import { Link, newAgentPath } from "../shell/router";
import { useNow } from "../text/useNow";
import { Icon } from "../ui/Icon";

interface AgentsProps {
  agents: readonly AgentStatus[];
  budget: Budget | undefined;
  /** Agents whose run waits because a cap is reached. */
  parked: ReadonlySet<string>;
  liveTexts: LiveText;
}

/** All agents and what they do, those that need a person first. */
export function Agents({ agents, budget, parked, liveTexts }: AgentsProps) {
  const { sorted, hold } = useSorted(agents, parked);
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
        <ul className="agent-cards" {...hold}>
          {sorted.map((agent) => (
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

/** The agents by need. The order does not change while the pointer is over the list. */
function useSorted(agents: readonly AgentStatus[], parked: ReadonlySet<string>) {
  const [isHeld, setHeld] = useState(false);
  const order = useRef<readonly string[]>([]);
  const byNeed = sortByNeed(agents, { parked, now: useNow() });
  const place = (agent: AgentStatus) => {
    const index = order.current.indexOf(agent.agent_id);
    return index < 0 ? order.current.length : index;
  };
  const sorted = isHeld ? byNeed.toSorted((a, b) => place(a) - place(b)) : byNeed;
  order.current = sorted.map((agent) => agent.agent_id);
  return { sorted, hold: { onPointerEnter: () => setHeld(true), onPointerLeave: () => setHeld(false) } };
}
