import type { Decision } from "../api/types";
import { labels } from "../labels";
import { useFirstSeenOrder } from "../ui/useFirstSeenOrder";
import { DecisionCard } from "./DecisionCard";

const RULES = { idOf: (one: Decision) => one.decision_id, isKept: () => true };

/** The decisions of one agent or one run: pending ones, and those that ended while they were on the screen. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  const { entries, remove } = useFirstSeenOrder(decisions, RULES);
  if (entries.length === 0) return null;
  return (
    <section className="panel attention" aria-labelledby="decisions-title">
      <header className="panel-head">
        <h2 id="decisions-title">{labels.decision.waiting}</h2>
        {decisions.length > 0 && <span className="count">{decisions.length}</span>}
      </header>
      <ul className="attention-list">
        {entries.map(({ id, item, isGone }) => (
          <li key={id}>
            <DecisionCard decision={item} isGone={isGone} onDismiss={() => remove(id)} />
          </li>
        ))}
      </ul>
    </section>
  );
}
