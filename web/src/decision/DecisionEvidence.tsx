import type { Decision } from "../api/types";
import { labels } from "../labels";
import { visibleText } from "../text/visible";

interface DecisionEvidenceProps {
  evidence: NonNullable<Decision["evidence"]>;
}

/** The untrusted text that led to the question, with the sentence that names the target marked in place. */
export function DecisionEvidence({ evidence }: DecisionEvidenceProps) {
  const { source, before = "", text, after = "" } = evidence;
  const name = source ? visibleText([source.kind, source.name].filter(Boolean).join(" ")) : undefined;
  return (
    <figure className="decision-evidence">
      <figcaption className="call-label">{labels.decision.evidence(name)}</figcaption>
      <blockquote>
        {visibleText(before)} <mark>{visibleText(text)}</mark>
        {visibleText(after)}
      </blockquote>
    </figure>
  );
}
