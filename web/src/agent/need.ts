// The order of agents by what a person has to do about them.
import type { AgentStatus } from "../api/types";

/** How long a failure counts as recent: until the next day's briefing. */
const RECENT_MS = 24 * 60 * 60 * 1_000;

const ORDER = ["waitsForYou", "stuck", "failed", "working", "queued", "asleep", "hidden"] as const;
export type Need = (typeof ORDER)[number];

interface NeedFacts {
  /** Agents whose run waits because a cap is reached. */
  parked: ReadonlySet<string>;
  now: number;
}

/** The most urgent reason to look at an agent. */
export function needOf(agent: AgentStatus, { parked, now }: NeedFacts): Need {
  if (agent.lifecycle === "destroyed" || agent.visibility === "private") return "hidden";
  if (agent.pending_decisions > 0 || agent.quarantined_runs > 0 || agent.activity === "waiting_on_human")
    return "waitsForYou";
  if (parked.has(agent.agent_id) || agent.activity === "stuck") return "stuck";
  const { last_run: last } = agent;
  if (last?.status === "failed" && now - Date.parse(last.ended_at ?? last.started_at) < RECENT_MS) return "failed";
  if (agent.activity === "working" || agent.activity === "waiting") return "working";
  return agent.activity === "queued" ? "queued" : "asleep";
}

/** The agents that need a person first; agents with equal need by name. */
export function sortByNeed(agents: readonly AgentStatus[], facts: NeedFacts): AgentStatus[] {
  const rank = (agent: AgentStatus) => ORDER.indexOf(needOf(agent, facts));
  return agents.toSorted((a, b) => rank(a) - rank(b) || (a.agent_id < b.agent_id ? -1 : 1));
}
