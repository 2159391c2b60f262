import { summaryBody } from "../event/payload";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { AttentionCard } from "../ui/AttentionCard";
import type { RunAlert } from "./attention";

/** Events of one run that a person should know about, until they are dismissed. */
export function AlertCard({ alert, onDismiss }: { alert: RunAlert; onDismiss: (eventIds: readonly string[]) => void }) {
  const { agentId, runKey, prompt, at, events, eventIds } = alert;
  const [first, ...others] = events;
  return (
    <AttentionCard
      icon="alert"
      agentId={agentId}
      prompt={prompt}
      headline={first?.presentation.title ?? ""}
      runKey={runKey}
      actions={
        <button type="button" className="button small" onClick={() => onDismiss(eventIds)}>
          {labels.attention.dismiss}
        </button>
      }
      at={at}
    >
      {first && <p>{toSentence(summaryBody(first))}</p>}
      {others.map((event) => (
        <p key={event.event_id}>
          <b>{toSentence(event.presentation.title)}</b> {toSentence(summaryBody(event))}
        </p>
      ))}
    </AttentionCard>
  );
}
