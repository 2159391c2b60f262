import type { Event } from "../api/types";
import { labels } from "../labels";
import { EventLine } from "./EventLine";
import { LevelSwitch } from "./LevelSwitch";
import { isShown } from "./level";
import { useDisplay } from "./useDisplay";

interface TimelineProps {
  events: readonly Event[];
  /** Loads older events; absent when there are none. */
  onOlder?: () => void;
  isFetching: boolean;
}

/** The events of an agent at the selected level, newest first. */
export function Timeline({ events, onOlder, isFetching }: TimelineProps) {
  const [display, setDisplay] = useDisplay();
  const shown = events.filter((event) => isShown(event, display)).reverse();
  return (
    <section className="panel" aria-labelledby="timeline-title" id="timeline">
      <header className="panel-head">
        <h2 id="timeline-title">{labels.event.timeline}</h2>
        <LevelSwitch display={display} onChange={setDisplay} />
      </header>
      {shown.length === 0 ? (
        <p className="quiet">{events.length === 0 ? labels.event.none : labels.event.noneAtLevel(events.length)}</p>
      ) : (
        <ol className="event-lines">
          {shown.map((event) => (
            <EventLine key={event.seq} event={event} linked />
          ))}
        </ol>
      )}
      {onOlder && (
        <button type="button" className="button small" onClick={onOlder} disabled={isFetching}>
          {isFetching ? labels.common.fetching : labels.common.showOlder}
        </button>
      )}
    </section>
  );
}
