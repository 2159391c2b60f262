import type { Event } from "../api/types";
import { EventLine } from "./EventLine";
import { LevelSwitch } from "./LevelSwitch";
import { isShown } from "./level";
import { useDisplay } from "./useDisplay";

interface TimelineProps {
  events: readonly Event[];
  /** Fetches what is older; absent when nothing is. */
  onOlder?: () => void;
  isFetching: boolean;
}

/** Everything an agent's log says at the chosen level, newest first. */
export function Timeline({ events, onOlder, isFetching }: TimelineProps) {
  const [display, setDisplay] = useDisplay();
  const shown = events.filter((event) => isShown(event, display)).reverse();
  return (
    <section className="panel" aria-labelledby="timeline-title" id="timeline">
      <header className="panel-head">
        <h2 id="timeline-title">Timeline</h2>
        <LevelSwitch display={display} onChange={setDisplay} />
      </header>
      {shown.length === 0 ? (
        <p className="quiet">
          {events.length === 0
            ? "Nothing has happened yet."
            : `Nothing at this level; ${events.length} smaller events are hidden.`}
        </p>
      ) : (
        <ol className="event-lines">
          {shown.map((event) => (
            <EventLine key={event.seq} event={event} linked />
          ))}
        </ol>
      )}
      {onOlder && (
        <button type="button" className="button small" onClick={onOlder} disabled={isFetching}>
          {isFetching ? "Fetching…" : "Show older"}
        </button>
      )}
    </section>
  );
}
