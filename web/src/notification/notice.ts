// What the browser notifies about: new things that need a person. A notice names the agent and what happened, and never
// the text of a command or a message, because it appears on a locked screen too.
import type { AttentionItem } from "../api/types";
import { shownItems } from "../briefing/attention";
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

/** Everything that needs a person now, as the server lists it. */
export function noticesOf(items: readonly AttentionItem[]): Notice[] {
  return shownItems(items).flatMap(itemNotices);
}

function itemNotices(item: AttentionItem): Notice[] {
  const { decision, failed, outOfRounds, parked, quarantined, stuck, unknown } = labels.notification;
  const ofRun = (kind: string, agentId: string, runKey: string, body: string): Notice => ({
    tag: `${kind}/${runKey}`,
    title: agentId,
    body,
    path: runPath(agentId, runKey),
  });
  switch (item.kind) {
    case "pending_decision": {
      const { agent_id: agentId, run_key: runKey, decision_id: id, tool } = item.decision;
      return [{ ...ofRun("decision", agentId, runKey, decision(tool)), tag: `decision/${id}` }];
    }
    case "failed_runs":
      // One notice for each run: another failure for the same reason is news.
      return item.run_keys.map((runKey) =>
        ofRun("failed", item.agent_id, runKey, item.code === "out_of_rounds" ? outOfRounds : failed),
      );
    case "quarantined_run":
      return [ofRun("quarantined", item.run.agent_id, item.run.run_key, quarantined)];
    case "parked_run":
      return [ofRun("parked", item.run.agent_id, item.run.run_key, parked)];
    case "unknown_outcome":
      return [ofRun("unknown", item.run.agent_id, item.run.run_key, unknown)];
    case "stuck_agent": {
      const { agent_id: agentId, code } = item.agent;
      return [{ tag: `stuck/${agentId}/${code}`, title: agentId, body: stuck, path: agentPath(agentId) }];
    }
  }
}

/** The notices that were not there before. */
export function newNotices(before: ReadonlySet<string>, notices: readonly Notice[]): Notice[] {
  return notices.filter(({ tag }) => !before.has(tag));
}
