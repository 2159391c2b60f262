import { StuckCard } from "../agent/StuckCard";
import type { Decision } from "../api/types";
import { ParkedCard } from "../budget/ParkedCard";
import { DecisionCard } from "../decision/DecisionCard";
import { useAnsweredElsewhere } from "../decision/useAnsweredElsewhere";
import { labels } from "../labels";
import { QuarantineCard } from "../run/QuarantineCard";
import { Icon } from "../ui/Icon";
import { AlertCard } from "./AlertCard";
import type { AttentionItem } from "./attention";

interface NeedsAttentionProps {
  items: readonly AttentionItem[];
  onDismiss: (eventIds: readonly string[]) => void;
}

/** Everything that a person has to act on, one card each. */
export function NeedsAttention({ items, onDismiss }: NeedsAttentionProps) {
  const answered = useAnsweredElsewhere();
  const isEmpty = items.length + answered.cards.length === 0;
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
          {answered.cards}
          {items.map((item) => (
            <li key={item.id}>
              <ItemCard item={item} onDismiss={onDismiss} onAnsweredElsewhere={answered.add} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface ItemCardProps {
  item: AttentionItem;
  onDismiss: (eventIds: readonly string[]) => void;
  onAnsweredElsewhere: (decision: Decision) => void;
}

function ItemCard({ item, onDismiss, onAnsweredElsewhere }: ItemCardProps) {
  switch (item.kind) {
    case "decision":
      return <DecisionCard decision={item.decision} onAnsweredElsewhere={onAnsweredElsewhere} />;
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
