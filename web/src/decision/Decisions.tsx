import { useState } from "react";
import type { Decision } from "../api/types";
import { DecisionCard } from "./DecisionCard";
import { Forestalled } from "./Forestalled";

/** Questions of one agent or one run, above everything else about it. Nothing is drawn where nobody is asked. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  const [closed, setClosed] = useState<readonly Decision[]>([]);
  if (decisions.length + closed.length === 0) return null;
  return (
    <section className="panel needs" aria-labelledby="decisions-title">
      <header className="panel-head">
        <h2 id="decisions-title">Waits for your decision</h2>
        {decisions.length > 0 && <span className="count">{decisions.length}</span>}
      </header>
      <ul className="need-list">
        {closed.map((one) => (
          <li key={one.decision_id} className="need">
            <Forestalled decision={one} onSeen={() => setClosed(closed.filter((other) => other !== one))} />
          </li>
        ))}
        {decisions.map((one) => (
          <li key={one.decision_id} className="need">
            <DecisionCard decision={one} onForestalled={(stands) => setClosed((before) => [...before, stands])} />
          </li>
        ))}
      </ul>
    </section>
  );
}
