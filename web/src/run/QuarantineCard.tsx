import { toSentence } from "../text/sentence";
import { AttentionCard } from "../ui/AttentionCard";
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

/** A quarantined run: why it cannot continue, and the buttons that resume or abandon it. */
export function QuarantineCard({ agentId, runKey, prompt, fault, isLinked = false, level }: QuarantineCardProps) {
  return (
    <AttentionCard
      icon="knot"
      agentId={agentId}
      prompt={prompt}
      headline="This run cannot go on and was set aside"
      level={level}
      actions={<QuarantineActions runKey={runKey} />}
      runLink={isLinked ? { runKey, text: "See the run" } : undefined}
    >
      {fault && <p>{toSentence(fault)}</p>}
    </AttentionCard>
  );
}
