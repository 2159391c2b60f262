import type { Decision } from "../api/types";
import { labels } from "../labels";
import { visibleText } from "../text/visible";
import { ErrorNotice } from "../ui/ErrorNotice";
import { DecisionEvidence } from "./DecisionEvidence";
import { inputGoneText } from "./text";

interface DecisionInputProps {
  decision: Decision;
  /** Whether the rest of a long input is loading. */
  isFetching: boolean;
  /** Why the rest could not be loaded. */
  error: unknown;
  onRetry: () => void;
}

/** A longer input does not fit into its box. */
const LONG_CHARS = 600;

/** The input of the tool, all of it or a note that only its start is shown, and what the action acts on. */
export function DecisionInput({ decision, isFetching, error, onRetry }: DecisionInputProps) {
  const { tool, input, diff, evidence, targets = [], is_input_cut: isCut, input_gone: inputGone } = decision;
  const isPartial = isCut && !inputGone;
  return (
    <>
      <pre className="decision-input" tabIndex={0} aria-label={labels.decision.input}>
        <code>
          {tool} {visibleText(input)}
        </code>
      </pre>
      {diff && (
        <pre className="decision-input" tabIndex={0} aria-label={labels.decision.diff}>
          <code>{diff}</code>
        </pre>
      )}
      {evidence && <DecisionEvidence evidence={evidence} />}
      {targets.length > 0 && (
        <div className="decision-targets">
          <p className="call-label">{labels.decision.targets}</p>
          <ul>
            {targets.map((target) => (
              <li key={target}>
                <code>{visibleText(target)}</code>
              </li>
            ))}
          </ul>
          <small className="quiet">{labels.decision.targetsHint}</small>
        </div>
      )}
      {inputGone && <p role="note">{inputGoneText(inputGone)}</p>}
      {isPartial && (
        <p role="status">
          {labels.decision.inputCut} {isFetching && labels.decision.inputFetching}
        </p>
      )}
      {isPartial && error != null && (
        <ErrorNotice action={labels.decision.inputAction} error={error} onRetry={onRetry} />
      )}
      {!isCut && input.length > LONG_CHARS && <p className="quiet">{labels.decision.inputWhole(input.length)}</p>}
    </>
  );
}
