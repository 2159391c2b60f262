import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";

/** The beginning of the server's note about firings that are skipped; its end names a command. */
const ONLY_IF_CHANGED = "a firing is skipped as nothing_to_do";

/** What a person should know about a schedule: when its firings are skipped. */
export function ScheduleNote({ note }: { note: string }) {
  return (
    <p className="quiet" role="note">
      <Icon name="alert" />{" "}
      <InlineText text={note.startsWith(ONLY_IF_CHANGED) ? labels.schedule.skippedUnchanged : toSentence(note)} />
    </p>
  );
}
