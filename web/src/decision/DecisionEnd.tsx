import type { Decision } from "../api/types";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { useArming } from "../ui/useArming";
import { decisionEndText } from "./text";

interface DecisionEndProps {
  /** The decision with its answer; absent while it is loading. */
  decision: Decision | undefined;
  isAnsweredHere: boolean;
  onDismiss: () => void;
}

/** How a decision ended. It stands where the options were, so its only button is armed like them. */
export function DecisionEnd({ decision, isAnsweredHere, onDismiss }: DecisionEndProps) {
  const { ref, isArmed, whenArmed } = useArming<HTMLDivElement>();
  const { answered, answeredElsewhere } = labels.decision;
  return (
    <div className="decision-end" ref={ref}>
      <p role="status">
        {isAnsweredHere && <b>{answered}</b>}
        {!isAnsweredHere && decision?.answer && <b>{answeredElsewhere}</b>}{" "}
        {decision ? decisionEndText(decision) : labels.common.fetching}
      </p>
      <button type="button" className="button small" aria-disabled={!isArmed} onClick={whenArmed(onDismiss)}>
        <Icon name="check" /> {labels.attention.dismiss}
      </button>
    </div>
  );
}
