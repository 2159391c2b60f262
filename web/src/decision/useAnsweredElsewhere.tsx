import { useState } from "react";
import type { Decision } from "../api/types";
import { AnsweredElsewhere } from "./AnsweredElsewhere";

/** Keeps decisions that were answered elsewhere on the screen until the reader dismisses them. */
export function useAnsweredElsewhere() {
  const [answered, setAnswered] = useState<readonly Decision[]>([]);
  const cards = answered.map((one) => (
    <li key={`answered/${one.decision_id}`}>
      <AnsweredElsewhere
        decision={one}
        onDismiss={() => setAnswered((before) => before.filter((other) => other !== one))}
      />
    </li>
  ));
  return { cards, add: (decision: Decision) => setAnswered((before) => [...before, decision]) };
}
