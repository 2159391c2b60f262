import type { AgentStatus } from "../api/types";
import { type Today, todayText } from "../budget/money";
import { labels } from "../labels";
import { isOpen, outcomeText, outcomeTone } from "../run/text";
import { agentPath, Link } from "../shell/router";
import { previewText } from "../text/preview";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import { activityView, usageText } from "./activity";

/** The length of live text that fits a card. */
const LIVE_CHARS_MAX = 140;

interface AgentCardProps {
  agent: AgentStatus;
  today: Today | undefined;
  /** Whether its run waits because a cap is reached. */
  isParked: boolean;
  live: string;
}

/** An agent in the briefing: its activity, its last run, its cost today and its usage. */
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
        <p className="agent-card-line live">{labels.common.quote(live.slice(-LIVE_CHARS_MAX).trim())}</p>
      ) : (
        <p className="agent-card-line">
          {last ? (
            <>
              <span className={`dot ${outcomeTone(last.status)}`} /> {/* The badge says what an open run waits for. */}
              {!isOpen(last.status) && `${outcomeText(last.status)}: `}
              {previewText(last.preview ?? labels.run.unnamed, 80)}{" "}
              <span className="quiet">
                <Time at={last.ended_at ?? last.started_at} />
              </span>
            </>
          ) : (
            <span className="quiet">{labels.agent.noRuns}</span>
          )}
        </p>
      )}
      <p className="agent-card-cost">
        {today && `${todayText(today)} · `}
        {usageText(agent)}
        {agent.pending > 0 && ` · ${labels.agent.queued(agent.pending)}`}
      </p>
    </li>
  );
}
