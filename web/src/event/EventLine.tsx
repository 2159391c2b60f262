import type { Event } from "../api/types";
import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { visibleText } from "../text/visible";
import { Time } from "../ui/Time";

/** One event in the server's words, as in the terminal. */
export function EventLine({ event, linked }: { event: Event; linked?: boolean }) {
  const { title, summary, visibility } = event.presentation;
  const isRepeated = summary.toLowerCase().startsWith(title.toLowerCase());
  const text = (
    <>
      {!isRepeated && <b>{title}</b>} {event.erased ? <i>{labels.event.erased}</i> : visibleText(summary)}
    </>
  );
  return (
    <li className={`event-line ${visibility}`} data-event={`${event.agent_id}/${event.seq}`}>
      <span className="event-line-dot" aria-hidden="true" />
      <span className="event-line-text">
        {linked && event.run_key ? <Link to={runPath(event.agent_id, event.run_key)}>{text}</Link> : text}
      </span>
      <Time at={event.at} />
    </li>
  );
}
