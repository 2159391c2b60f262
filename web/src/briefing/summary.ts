// The line below the heading of the briefing.
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";

/** What the agents do, and how many items need attention. */
export function summaryText(agents: readonly Pick<AgentStatus, "activity">[] | undefined, items: number): string {
  if (!agents) return labels.briefing.loading;
  if (agents.length === 0) return labels.briefing.noAgents;
  return labels.briefing.summary(activityText(agents), items);
}

function activityText(agents: readonly Pick<AgentStatus, "activity">[]): string {
  const count = (...activities: AgentStatus["activity"][]) =>
    agents.filter((agent) => activities.includes(agent.activity)).length;
  const working = count("working", "queued");
  const stuck = count("stuck");
  const waiting = count("waiting_on_human", "waiting");
  if (working > 0) return labels.briefing.working(working);
  if (stuck > 0) return labels.briefing.stuck(stuck);
  return waiting > 0 ? labels.briefing.waiting(waiting) : labels.briefing.allAsleep(agents.length);
}
