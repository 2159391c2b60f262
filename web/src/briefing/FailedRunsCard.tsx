import type { AttentionItem } from "../api/types";
import { labels } from "../labels";
import { NextSteps } from "../run/NextSteps";
import { visibleText } from "../text/visible";
import { ArmedButton } from "../ui/ArmedButton";
import { AttentionCard } from "../ui/AttentionCard";

interface FailedRunsCardProps {
  failed: Extract<AttentionItem, { kind: "failed_runs" }>;
  onDismiss: (runKeys: readonly string[]) => void;
}

/** Runs that failed for the same reason: the cause, what to do, and a button that dismisses all of them. */
export function FailedRunsCard({ failed, onDismiss }: FailedRunsCardProps) {
  const { agent_id: agentId, count, run_keys: runKeys, message, next_steps: steps, preview, last_at: at } = failed;
  return (
    <AttentionCard
      icon="alert"
      agentId={agentId}
      prompt={preview}
      headline={count === 1 ? labels.attention.failed : labels.attention.failedMany(count)}
      runKey={runKeys[0]}
      actions={
        <>
          {runKeys[0] && <NextSteps agentId={agentId} runKey={runKeys[0]} steps={steps} />}
          <ArmedButton onPress={() => onDismiss(runKeys)}>{labels.attention.dismiss}</ArmedButton>
        </>
      }
      at={at}
    >
      <p>{visibleText(message)}</p>
    </AttentionCard>
  );
}
