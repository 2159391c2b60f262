import { useQuery } from "@tanstack/react-query";
import { runQuery } from "../api/queries";
import { labels } from "../labels";
import { AttentionCard } from "../ui/AttentionCard";
import { InlineText } from "../ui/InlineText";
import { faultText, lastActionText } from "./fault";
import { QuarantineActions } from "./QuarantineActions";

interface QuarantineCardProps {
  agentId: string;
  runKey: string;
  prompt?: string;
  fault?: string;
  /** Whether the card links to the run; not on the run's own page. */
  isLinked?: boolean;
  level?: 2 | 3;
}

/** A quarantined run: what happened, at which action, and the buttons that resume or abandon it. */
export function QuarantineCard({ agentId, runKey, prompt, fault, isLinked = false, level }: QuarantineCardProps) {
  // The list of quarantined runs has no steps; the run has.
  const steps = useQuery(runQuery(runKey)).data?.steps;
  const { reason, nextStep } = faultText(fault);
  return (
    <AttentionCard
      icon="knot"
      agentId={agentId}
      prompt={prompt}
      headline={labels.run.quarantined}
      level={level}
      actions={<QuarantineActions runKey={runKey} />}
      runKey={isLinked ? runKey : undefined}
    >
      <p>{reason}</p>
      {steps && <p>{lastActionText(steps)}</p>}
      <p>
        <InlineText text={nextStep} />
      </p>
    </AttentionCard>
  );
}
