import { asFailure } from "../api/failure";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Icon } from "./Icon";
import { InlineText } from "./InlineText";

interface ErrorNoticeProps {
  /** The action that failed, as the end of "Could not …". */
  action: string;
  error: unknown;
  onRetry?: () => void;
}

/** A failed action: what failed, why, and what to do next. */
export function ErrorNotice({ action, error, onRetry }: ErrorNoticeProps) {
  const failure = asFailure(error);
  return (
    <div className="error-notice" role="alert">
      <Icon name="alert" />
      <div>
        <p className="error-notice-title">{labels.common.couldNot(action)}</p>
        <p>
          <InlineText text={toSentence(failure.message)} />
        </p>
        {failure.hint !== "" && (
          <p className="quiet">
            <InlineText text={toSentence(failure.hint)} />
          </p>
        )}
        {onRetry && (
          <button type="button" className="button small" onClick={onRetry}>
            {labels.common.tryAgain}
          </button>
        )}
      </div>
    </div>
  );
}
