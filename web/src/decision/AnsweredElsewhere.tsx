import type { Decision } from "../api/types";
import { Icon } from "../ui/Icon";
import { decisionEndText } from "./text";

/** A question that somebody else closed while it was on the screen: what they said stands. */
export function AnsweredElsewhere({ decision, onDismiss }: { decision: Decision; onDismiss: () => void }) {
  return (
    <div role="status">
      <p className="attention-title">
        {decision.agent_id} · {decision.title}
      </p>
      <p>
        <b>Your answer came too late.</b> {decisionEndText(decision)}
      </p>
      <p className="attention-actions">
        <button type="button" className="button small" onClick={onDismiss}>
          <Icon name="check" /> I have seen it
        </button>
      </p>
    </div>
  );
}
