// The line below the heading of the briefing.
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";

type Counted = Pick<AgentStatus, "agent_id" | "activity">;

const NONE: ReadonlySet<string> = new Set();

/** What the agents do, and how many items need attention. An agent whose run waits for budget is not stuck. */
export function summaryText(agents: readonly Counted[] | undefined, items: number, parked = NONE): string {
  if (!agents) return labels.briefing.loading;
  if (agents.length === 0) return labels.briefing.noAgents;
  const activities = agents.map((agent) => (parked.has(agent.agent_id) ? "waiting" : agent.activity));
  return labels.briefing.summary(activityText(activities), items);
}

function activityText(agents: readonly AgentStatus["activity"][]): string {
  const count = (...activities: AgentStatus["activity"][]) =>
    agents.filter((activity) => activities.includes(activity)).length;
  const working = count("working", "queued");
  const stuck = count("stuck");
  const waiting = count("waiting_on_human", "waiting");
  if (working > 0) return labels.briefing.working(working);
  if (stuck > 0) return labels.briefing.stuck(stuck);
  return waiting > 0 ? labels.briefing.waiting(waiting) : labels.briefing.allAsleep(agents.length);
}
