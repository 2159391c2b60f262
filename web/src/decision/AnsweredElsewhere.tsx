import type { Decision } from "../api/types";
import { labels } from "../labels";
import { AttentionCard } from "../ui/AttentionCard";
import { Icon } from "../ui/Icon";
import { decisionEndText } from "./text";

/** A decision that was closed elsewhere while it was on the screen, until the reader has seen how. */
export function AnsweredElsewhere({ decision, onDismiss }: { decision: Decision; onDismiss: () => void }) {
  return (
    <AttentionCard
      icon="check"
      agentId={decision.agent_id}
      headline={decision.title}
      actions={
        <button type="button" className="button small" onClick={onDismiss}>
          <Icon name="check" /> {labels.attention.dismiss}
        </button>
      }
    >
      <p role="status">
        <b>{labels.decision.answeredElsewhere}</b> {decisionEndText(decision)}
      </p>
    </AttentionCard>
  );
}
