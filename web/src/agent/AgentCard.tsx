import type { AgentStatus } from "../api/types";
import { type Today, todayText } from "../budget/money";
import { outcomeText, outcomeTone } from "../run/text";
import { agentPath, Link } from "../shell/router";
import { oneLine } from "../text/number";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import { activityView, usageText } from "./activity";

/** Live words that fit a card. */
const LIVE_CHARS_MAX = 140;

interface AgentCardProps {
  agent: AgentStatus;
  today: Today | undefined;
  /** Whether its run waits for money. */
  isParked: boolean;
  live: string;
}

/** An agent in the briefing: what it does, what it did last, what it costs today and has used so far. */
export function AgentCard({ agent, today, isParked, live }: AgentCardProps) {
  const { label, icon, tone } = activityView(agent, isParked);
  const last = agent.last_run;
  return (
    <li className={`agent-card ${tone === "busy" ? "busy" : ""}`}>
      <div className="agent-card-head">
        <span className={`orb ${tone}`}>
          <Icon name={icon} />
        </span>
        <h3>
          <Link to={agentPath(agent.agent_id)} className="stretched">
            {agent.agent_id}
          </Link>
        </h3>
        <Badge tone={tone}>{label}</Badge>
      </div>
      {live !== "" ? (
        <p className="agent-card-line live">“{live.slice(-LIVE_CHARS_MAX).trim()}”</p>
      ) : (
        <p className="agent-card-line">
          {last ? (
            <>
              <span className={`dot ${outcomeTone(last.status)}`} /> {outcomeText(last.status)}:{" "}
              {oneLine(last.preview ?? "a run", 80)}{" "}
              <span className="quiet">
                <Time at={last.ended_at ?? last.started_at} />
              </span>
            </>
          ) : (
            <span className="quiet">Has not run yet. Open it and send a first message.</span>
          )}
        </p>
      )}
      <p className="agent-card-cost">
        {today && `${todayText(today)} · `}
        {usageText(agent)}
        {agent.pending > 0 && ` · ${agent.pending} waiting`}
      </p>
    </li>
  );
}
