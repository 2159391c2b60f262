import { StuckCard } from "../agent/StuckCard";
import { ParkedCard } from "../budget/ParkedCard";
import { DecisionCard } from "../decision/DecisionCard";
import { labels } from "../labels";
import { QuarantineCard } from "../run/QuarantineCard";
import { Icon } from "../ui/Icon";
import { useFirstSeenOrder } from "../ui/useFirstSeenOrder";
import { AlertCard } from "./AlertCard";
import type { AttentionItem } from "./attention";

interface NeedsAttentionProps {
  items: readonly AttentionItem[];
  onDismiss: (eventIds: readonly string[]) => void;
}

/** A decision that ended keeps its place, so that no other card moves under the pointer. */
const RULES = { idOf: (item: AttentionItem) => item.id, isKept: (item: AttentionItem) => item.kind === "decision" };

/** Everything that a person has to act on, one card each. */
export function NeedsAttention({ items, onDismiss }: NeedsAttentionProps) {
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
    </section>
  );
}

interface ItemCardProps {
  item: AttentionItem;
  isGone: boolean;
  onDismiss: (eventIds: readonly string[]) => void;
  /** Gives up the place of a decision that has ended. */
  onRemove: () => void;
}

function ItemCard({ item, isGone, onDismiss, onRemove }: ItemCardProps) {
  switch (item.kind) {
    case "decision":
      return <DecisionCard decision={item.decision} isGone={isGone} onDismiss={onRemove} />;
    case "quarantined": {
      const { agent_id: agentId, run_key: runKey, preview, fault } = item.run;
      return <QuarantineCard agentId={agentId} runKey={runKey} prompt={preview} fault={fault} isLinked />;
    }
    case "parked": {
      const { agentId, runKey, prompt, parked, message } = item;
      return <ParkedCard agentId={agentId} runKey={runKey} prompt={prompt} parked={parked} message={message} />;
    }
    case "stuck":
      return <StuckCard stuck={item.stuck} />;
    case "alert":
      return <AlertCard alert={item} onDismiss={onDismiss} />;
  }
}
