import { StuckCard } from "../agent/StuckCard";
import type { AttentionItem } from "../api/types";
import { ParkedCard } from "../budget/ParkedCard";
import { DecisionCard } from "../decision/DecisionCard";
import { labels } from "../labels";
import { QuarantineCard } from "../run/QuarantineCard";
import { AttentionCard } from "../ui/AttentionCard";
import { Icon } from "../ui/Icon";
import { useFirstSeenOrder } from "../ui/useFirstSeenOrder";
import { itemId } from "./attention";
import { FailedRunsCard } from "./FailedRunsCard";

interface NeedsAttentionProps {
  items: readonly AttentionItem[];
  /** Items beyond the server's limit. */
  more?: number;
  onDismiss: (runKeys: readonly string[]) => void;
}

/** A decision that ended keeps its place, so that no other card moves under the pointer. */
const RULES = { idOf: itemId, isKept: (item: AttentionItem) => item.kind === "pending_decision" };

/** Everything that a person has to act on, one card each. */
export function NeedsAttention({ items, more = 0, onDismiss }: NeedsAttentionProps) {
  const { entries, remove } = useFirstSeenOrder(items, RULES);
  const isEmpty = entries.length === 0;
  return (
    <section aria-labelledby="attention-heading" className={`panel attention ${isEmpty ? "empty-attention" : ""}`}>
      <header className="panel-head">
        <h2 id="attention-heading">{labels.attention.title}</h2>
        {items.length > 0 && <span className="count">{items.length}</span>}
      </header>
      {isEmpty ? (
        <div className="attention-empty">
          <Icon name="dawn" />
          <p>{labels.attention.empty}</p>
        </div>
      ) : (
        <ul className="attention-list">
          {entries.map(({ id, item, isGone }) => (
            <li key={id}>
              <ItemCard item={item} isGone={isGone} onDismiss={onDismiss} onRemove={() => remove(id)} />
            </li>
          ))}
        </ul>
      )}
      {more > 0 && <p className="quiet">{labels.attention.more(more)}</p>}
    </section>
  );
}

interface ItemCardProps {
  item: AttentionItem;
  isGone: boolean;
  onDismiss: (runKeys: readonly string[]) => void;
  /** Gives up the place of a decision that has ended. */
  onRemove: () => void;
}

function ItemCard({ item, isGone, onDismiss, onRemove }: ItemCardProps) {
  switch (item.kind) {
    case "pending_decision":
      return <DecisionCard decision={item.decision} isGone={isGone} onDismiss={onRemove} />;
    case "quarantined_run": {
      const { agent_id: agentId, run_key: runKey, preview, fault } = item.run;
      return <QuarantineCard agentId={agentId} runKey={runKey} prompt={preview} fault={fault} isLinked />;
    }
    case "parked_run": {
      const { agent_id: agentId, run_key: runKey, preview } = item.run;
      return <ParkedCard agentId={agentId} runKey={runKey} prompt={preview} parked={item.parked} />;
    }
    case "stuck_agent":
      return <StuckCard stuck={item.agent} />;
    case "failed_runs":
      return <FailedRunsCard failed={item} onDismiss={onDismiss} />;
    case "unknown_outcome": {
      const { agent_id: agentId, run_key: runKey, preview } = item.run;
      return (
        <AttentionCard
          icon="alert"
          agentId={agentId}
          prompt={preview}
          headline={labels.attention.unknown}
          runKey={runKey}
          actions={
            <button type="button" className="button small" onClick={() => onDismiss([runKey])}>
              {labels.attention.dismiss}
            </button>
          }
          at={item.run.ended_at ?? item.run.started_at}
        >
          <p>{labels.attention.unknownText}</p>
        </AttentionCard>
      );
    }
  }
}
