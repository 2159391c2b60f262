import { useMemo } from "react";
import type { Event } from "../api/types";
import { LevelSwitch } from "../event/LevelSwitch";
import { type Display, isShown } from "../event/level";
import { RunStoryView } from "../event/RunStoryView";
import { groupByRun, type RunStory } from "../event/runStory";
import { useDisplay } from "../event/useDisplay";
import { Time } from "../ui/Time";
import type { LastSeen } from "./lastSeen";

interface SinceLastSeenProps {
  lastSeen: LastSeen | undefined;
  events: readonly Event[];
  onMarkSeen: () => void;
}

/** What happened since a person last said "seen", told by run. */
export function SinceLastSeen({ lastSeen, events, onMarkSeen }: SinceLastSeenProps) {
  const [display, setDisplay] = useDisplay();
  const stories = useMemo(
    () => groupByRun(events).filter((story) => story.events.some((event) => isShown(event, display))),
    [events, display],
  );
  return (
    <section aria-labelledby="since-title" className="panel">
      <header className="panel-head">
        <h2 id="since-title">{lastSeen ? "Since you last looked" : "What happened lately"}</h2>
        <LevelSwitch display={display} onChange={setDisplay} />
      </header>
      {stories.length === 0 ? (
        <p className="quiet">
          {lastSeen ? (
            <>
              Nothing new. You last looked <Time at={lastSeen.at} />.
            </>
          ) : (
            "Nothing has happened yet. Send an agent a message, and its work will be told here."
          )}
        </p>
      ) : (
        <>
          <ol className="stories" aria-live="polite" aria-relevant="additions">
            {stories.map((story) => (
              <RunStoryView key={story.id} story={story} lines={linesOf(story, display)} />
            ))}
          </ol>
          <footer className="panel-foot">
            <button type="button" className="button small" onClick={onMarkSeen}>
              Mark all as seen
            </button>
            {lastSeen && (
              <span className="quiet">
                You last looked <Time at={lastSeen.at} />.
              </span>
            )}
          </footer>
        </>
      )}
    </section>
  );
}

/** At the plain level the sentence says it all; below it, the single events are what was asked for. */
function linesOf(story: RunStory, display: Display): readonly Event[] {
  if (display === "info" && story.runKey) return [];
  return story.events.filter((event) => isShown(event, display));
}
