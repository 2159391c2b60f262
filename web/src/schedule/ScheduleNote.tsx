import { toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";

/** What a person should know about a schedule: when its firings are skipped. */
export function ScheduleNote({ note }: { note: string }) {
  return (
    <p className="quiet" role="note">
      <Icon name="alert" /> <InlineText text={toSentence(note)} />
    </p>
  );
}
