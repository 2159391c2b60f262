// What the browser notifies about: new things that need a person. A notice names the agent and what happened, and never
// the text of a command or a message, because it appears on a locked screen too.
import type { AgentStatus, Decision, RunSummary, StuckAgent } from "../api/types";
import { labels } from "../labels";
import { agentPath, runPath } from "../shell/router";

export interface Notice {
  /** One for each item, so that the browser shows it once even with several open pages. */
  tag: string;
  title: string;
  body: string;
  /** The page that the notice opens. */
  path: string;
}

export interface NoticeSources {
  decisions: readonly Decision[];
  quarantined: readonly RunSummary[];
  stuck: readonly StuckAgent[];
  agents: readonly AgentStatus[];
}

/** The code of an agent that waits because a cap is reached. */
const PARKED = "budget_exceeded";

/** Everything that needs a person now. */
export function noticesOf({ decisions, quarantined, stuck, agents }: NoticeSources): Notice[] {
  const { decision, failed, parked, quarantined: isQuarantined } = labels.notification;
  const parkedAgents = stuck.filter((one) => one.code === PARKED);
  const failedRuns = agents.flatMap(({ last_run: last }) => (last?.status === "failed" ? [last] : []));
  const ofRun = (kind: string, run: RunSummary, body: string): Notice => ({
    tag: `${kind}/${run.run_key}`,
    title: run.agent_id,
    body,
    path: runPath(run.agent_id, run.run_key),
  });
  return [
    ...decisions.map((one) => ({
      tag: `decision/${one.decision_id}`,
      title: one.agent_id,
      body: decision(one.tool),
      path: runPath(one.agent_id, one.run_key),
    })),
    ...quarantined.map((run) => ofRun("quarantined", run, isQuarantined)),
    ...failedRuns.map((run) => ofRun("failed", run, failed)),
    ...parkedAgents.map(({ agent_id: agentId }) => ({
      tag: `parked/${agentId}`,
      title: agentId,
      body: parked,
      path: agentPath(agentId),
    })),
  ];
}

/** The notices that were not there before. */
export function newNotices(before: ReadonlySet<string>, notices: readonly Notice[]): Notice[] {
  return notices.filter(({ tag }) => !before.has(tag));
}
