import { useId } from "react";
import type { Decision } from "../api/types";
import { labels } from "../labels";
import { Icon, type IconName } from "../ui/Icon";
import { useArming } from "../ui/useArming";
import { isApproval } from "./text";

interface DecisionOptionsProps {
  decision: Decision;
  /** Whether no answer is accepted here or right now. */
  isDisabled: boolean;
  /** Whether the whole input is on the screen; without it nothing can be approved. */
  isInputShown: boolean;
  onAnswer: (option: string) => void;
}

/** The options that every approval has; an option with another id looks neutral. */
const ICONS: Partial<Record<string, IconName>> = { approve: "check", approve_hosts: "check", deny: "cross" };

/** The answers to a decision, each with what it does. They ignore clicks right after they appear or move. */
export function DecisionOptions({ decision, isDisabled, isInputShown, onAnswer }: DecisionOptionsProps) {
  const id = useId();
  const { ref, isArmed, whenArmed } = useArming<HTMLUListElement>();
  return (
    <ul className="decision-options" ref={ref}>
      {decision.options.map((option) => {
        const isRecommended = option.id === decision.recommended_option_id;
        const icon = ICONS[option.id];
        return (
          <li key={option.id}>
            <button
              type="button"
              className={`button ${option.id === "approve_hosts" ? "" : icon ? option.id : ""} ${isRecommended ? "recommended" : ""}`}
              aria-describedby={`${id}-${option.id}`}
              aria-disabled={!isArmed || undefined}
              onClick={whenArmed(() => onAnswer(option.id))}
              disabled={isDisabled || (isApproval(option.id) && !isInputShown)}
            >
              {icon && <Icon name={icon} />}
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
