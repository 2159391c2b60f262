import { useState } from "react";
import { StuckCard } from "../agent/StuckCard";
import type { AttentionItem } from "../api/types";
import { ParkedCard } from "../budget/ParkedCard";
import { DecisionCard } from "../decision/DecisionCard";
import { labels } from "../labels";
import { QuarantineCard } from "../run/QuarantineCard";
import { ArmedButton } from "../ui/ArmedButton";
import { AttentionCard } from "../ui/AttentionCard";
import { Icon } from "../ui/Icon";
import { useFirstSeenOrder } from "../ui/useFirstSeenOrder";
import { itemId } from "./attention";
import { FailedRunsCard } from "./FailedRunsCard";
import { HeldCard } from "./HeldCard";

interface NeedsAttentionProps {
  items: readonly AttentionItem[];
  /** Items beyond the server's limit. */
  more?: number;
  onDismiss: (runKeys: readonly string[]) => void;
}

/** An item that ended keeps its place for a while, so that no other card moves under the pointer. */
const RULES = { idOf: itemId, isKept: () => true };

/** Everything that a person has to act on, one card each. */
export function NeedsAttention({ items, more = 0, onDismiss }: NeedsAttentionProps) {
  const { entries, remove } = useFirstSeenOrder(items, RULES);
  const [isPointed, setPointed] = useState(false);
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
        <ul className="attention-list" onPointerEnter={() => setPointed(true)} onPointerLeave={() => setPointed(false)}>
          {entries.map(({ id, item, isGone }) => {
            const card = <ItemCard item={item} isGone={isGone} onDismiss={onDismiss} onRemove={() => remove(id)} />;
            return (
              <li key={id}>
                {item.kind === "pending_decision" ? (
                  card
                ) : (
                  <HeldCard isGone={isGone} isPointed={isPointed} onEnd={() => remove(id)}>
                    {card}
                  </HeldCard>
                )}
              </li>
            );
          })}
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
          actions={<ArmedButton onPress={() => onDismiss([runKey])}>{labels.attention.dismiss}</ArmedButton>}
          at={item.run.ended_at ?? item.run.started_at}
        >
          <p>{labels.attention.unknownText}</p>
        </AttentionCard>
      );
    }
  }
}
