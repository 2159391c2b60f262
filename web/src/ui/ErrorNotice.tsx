import { asFailure } from "../api/failure";
import { toSentence } from "../text/sentence";
import { Icon } from "./Icon";

interface ErrorNoticeProps {
  /** What was being tried, as the end of "could not …". */
  action: string;
  error: unknown;
  onRetry?: () => void;
}

/** Something did not work: what, why, and the way out. */
export function ErrorNotice({ action, error, onRetry }: ErrorNoticeProps) {
  const failure = asFailure(error);
  return (
    <div className="error-notice" role="alert">
      <Icon name="alert" />
      <div>
        <p className="error-notice-title">Could not {action}.</p>
        <p>{toSentence(failure.message)}</p>
        {failure.hint !== "" && <p className="quiet">{toSentence(failure.hint)}</p>}
        {onRetry && (
          <button type="button" className="button small" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}
