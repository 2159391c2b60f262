// What a person has to act on, as the server lists it, with an id for each item.
import type { AttentionItem } from "../api/types";

/** Reasons for being stuck that have a card of their own. */
const HAS_OWN_CARD = ["budget_exceeded", "decision_pending", "braked", "run_quarantined"];

/** The items to show: an agent that is stuck because of another item is not listed again. */
export function shownItems(items: readonly AttentionItem[]): AttentionItem[] {
  return items.filter((item) => item.kind !== "stuck_agent" || !HAS_OWN_CARD.includes(item.agent.code));
}

/** Identifies an item while the list changes. */
export function itemId(item: AttentionItem): string {
  switch (item.kind) {
    case "pending_decision":
      return `decision/${item.decision.decision_id}`;
    case "stuck_agent":
      return `stuck/${item.agent.agent_id}`;
    case "failed_runs":
      return `failed/${item.agent_id}/${item.code}/${item.run_keys.at(-1)}`;
    case "quarantined_run":
    case "parked_run":
    case "unknown_outcome":
      return `${item.kind}/${item.run.run_key}`;
  }
}

/** The agents that wait because a cap is reached. */
export function parkedAgents(items: readonly AttentionItem[]): ReadonlySet<string> {
  return new Set(items.flatMap((item) => (item.kind === "parked_run" ? [item.run.agent_id] : [])));
}
