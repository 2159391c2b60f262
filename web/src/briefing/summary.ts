// The line below the heading of the briefing.
import type { AgentStatus, AttentionItem } from "../api/types";
import { labels } from "../labels";
import { parkedAgents } from "./attention";

type Counted = Pick<AgentStatus, "agent_id" | "activity">;

/**
 * What the agents do, and how many items need attention. An agent whose run waits for budget is not stuck. Temporary agents
 * are not among `agents`, but they are counted if one of the items says that they cannot continue.
 */
export function summaryText(agents: readonly Counted[] | undefined, items: readonly AttentionItem[]): string {
  if (!agents) return labels.briefing.loading;
  const parked = parkedAgents(items);
  const isListed = (id: string) => agents.some((agent) => agent.agent_id === id);
  const temporary = items.flatMap((item) =>
    item.kind === "stuck_agent" && !isListed(item.agent.agent_id) ? ["stuck" as const] : [],
  );
  const listed = agents.map((agent) => (parked.has(agent.agent_id) ? "waiting" : agent.activity));
  const activities = [...listed, ...temporary];
  if (activities.length === 0) return labels.briefing.noAgents;
  return labels.briefing.summary(activityText(activities), items.length);
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
