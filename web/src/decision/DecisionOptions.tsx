import { useId } from "react";
import type { Decision } from "../api/types";
import { labels } from "../labels";
import { isApproval } from "./text";

interface DecisionOptionsProps {
  decision: Decision;
  /** Whether no answer is accepted here or right now. */
  isDisabled: boolean;
  /** Whether the whole input is on the screen; without it nothing can be approved. */
  isInputShown: boolean;
  onAnswer: (option: string) => void;
}

/** The answers to a decision, each with what it does. */
export function DecisionOptions({ decision, isDisabled, isInputShown, onAnswer }: DecisionOptionsProps) {
  const id = useId();
  return (
    <ul className="decision-options">
      {decision.options.map((option) => {
        const isRecommended = option.id === decision.recommended_option_id;
        return (
          <li key={option.id}>
            <button
              type="button"
              className={`button ${isRecommended ? "primary" : ""}`}
              aria-describedby={`${id}-${option.id}`}
              onClick={() => onAnswer(option.id)}
              disabled={isDisabled || (isApproval(option.id) && !isInputShown)}
            >
              {isRecommended ? labels.decision.recommended(option.label) : option.label}
            </button>
            <small id={`${id}-${option.id}`}>
              {option.description}
              {option.tradeoffs && ` ${option.tradeoffs}`}
            </small>
          </li>
        );
      })}
    </ul>
  );
}
