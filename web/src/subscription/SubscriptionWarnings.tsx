import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";

/** The words of a new subscription that match nothing yet, which is most often a misspelling. */
export function SubscriptionWarnings({ name, warnings }: { name: string; warnings: readonly string[] }) {
  return (
    <div className="notice" role="alert">
      <Icon name="alert" />
      <div>
        <p>{labels.subscription.warned(name)}</p>
        <ul>
          {warnings.map((warning) => (
            <li key={warning}>
              <InlineText text={toSentence(warning)} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
