import type { Decision } from "../api/types";
import { labels } from "../labels";
import { DecisionCard } from "./DecisionCard";
import { useAnsweredElsewhere } from "./useAnsweredElsewhere";

/** The pending decisions of one agent or one run. Renders nothing where there are none. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  const answered = useAnsweredElsewhere();
  if (decisions.length + answered.cards.length === 0) return null;
  return (
    <section className="panel attention" aria-labelledby="decisions-title">
      <header className="panel-head">
        <h2 id="decisions-title">{labels.decision.waiting}</h2>
        {decisions.length > 0 && <span className="count">{decisions.length}</span>}
      </header>
      <ul className="attention-list">
        {answered.cards}
        {decisions.map((one) => (
          <li key={one.decision_id}>
            <DecisionCard decision={one} onAnsweredElsewhere={answered.add} />
          </li>
        ))}
      </ul>
    </section>
  );
}
