import type { Decision } from "../api/types";
import { ErrorNotice } from "../ui/ErrorNotice";
import { inputGoneText } from "./text";

interface DecisionInputProps {
  decision: Decision;
  /** Whether the rest of it is on its way. */
  isFetching: boolean;
  /** Why the rest of it did not come. */
  error: unknown;
  onRetry: () => void;
}

/** Longer than this it may not fit into its box. */
const LONG_CHARS = 600;

/** What a tool would be given: all of it, or in so many words only how it begins. */
export function DecisionInput({ decision, isFetching, error, onRetry }: DecisionInputProps) {
  const { tool, input, is_input_cut: isCut, input_gone: inputGone } = decision;
  return (
    <>
      <pre className="decision-input" tabIndex={0} aria-label="What it would be given">
        <code>
          {tool} {input}
        </code>
      </pre>
      {inputGone && <p role="note">{inputGoneText(inputGone)}</p>}
      {isCut && !inputGone && (
        <p role="status">This is only how it begins.{isFetching && " The rest is on its way."}</p>
      )}
      {isCut && !inputGone && error != null && <ErrorNotice action="show all of it" error={error} onRetry={onRetry} />}
      {!isCut && input.length > LONG_CHARS && (
        <p className="quiet">These are all {input.length} characters of it. Read to the end before you approve.</p>
      )}
    </>
  );
}
