import { StuckCard } from "../agent/StuckCard";
import type { AttentionItem, Decision } from "../api/types";
import { ParkedCard } from "../budget/ParkedCard";
import { DecisionCard } from "../decision/DecisionCard";
import { useAnsweredElsewhere } from "../decision/useAnsweredElsewhere";
import { labels } from "../labels";
import { QuarantineCard } from "../run/QuarantineCard";
import { AttentionCard } from "../ui/AttentionCard";
import { Icon } from "../ui/Icon";
import { itemId } from "./attention";
import { FailedRunsCard } from "./FailedRunsCard";

interface NeedsAttentionProps {
  items: readonly AttentionItem[];
  /** Items beyond the server's limit. */
  more?: number;
  onDismiss: (runKeys: readonly string[]) => void;
}

/** Everything that a person has to act on, one card each. */
export function NeedsAttention({ items, more = 0, onDismiss }: NeedsAttentionProps) {
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
            <li key={itemId(item)}>
              <ItemCard item={item} onDismiss={onDismiss} onAnsweredElsewhere={answered.add} />
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
  onDismiss: (runKeys: readonly string[]) => void;
  onAnsweredElsewhere: (decision: Decision) => void;
}

function ItemCard({ item, onDismiss, onAnsweredElsewhere }: ItemCardProps) {
  switch (item.kind) {
    case "pending_decision":
      return <DecisionCard decision={item.decision} onAnsweredElsewhere={onAnsweredElsewhere} />;
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
