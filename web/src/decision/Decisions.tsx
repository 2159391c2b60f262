import { useState } from "react";
import type { Decision } from "../api/types";
import { AnsweredElsewhere } from "./AnsweredElsewhere";
import { DecisionCard } from "./DecisionCard";

/** Questions of one agent or one run, above everything else about it. Nothing is drawn where nobody is asked. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  const [answered, setAnswered] = useState<readonly Decision[]>([]);
  if (decisions.length + answered.length === 0) return null;
  return (
    <section className="panel attention" aria-labelledby="decisions-title">
      <header className="panel-head">
        <h2 id="decisions-title">Waits for your decision</h2>
        {decisions.length > 0 && <span className="count">{decisions.length}</span>}
      </header>
      <ul className="attention-list">
        {answered.map((one) => (
          <li key={one.decision_id} className="attention-card">
            <AnsweredElsewhere
              decision={one}
              onDismiss={() => setAnswered(answered.filter((other) => other !== one))}
            />
          </li>
        ))}
        {decisions.map((one) => (
          <li key={one.decision_id} className="attention-card">
            <DecisionCard
              decision={one}
              onAnsweredElsewhere={(stands) => setAnswered((before) => [...before, stands])}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
