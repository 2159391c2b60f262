import { asFailure } from "../api/failure";
import { sentence } from "../text/sentence";
import { Glyph } from "./Glyph";

interface TroubleProps {
  /** What was being tried, as the end of "could not …". */
  doing: string;
  thrown: unknown;
  onRetry?: () => void;
}

/** Something did not work: what, why, and the way out. */
export function Trouble({ doing, thrown, onRetry }: TroubleProps) {
  const failure = asFailure(thrown);
  return (
    <div className="trouble" role="alert">
      <Glyph name="alert" />
      <div>
        <p className="trouble-title">Could not {doing}.</p>
        <p>{sentence(failure.message)}</p>
        {failure.hint !== "" && <p className="quiet">{sentence(failure.hint)}</p>}
        {onRetry && (
          <button type="button" className="button small" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}
