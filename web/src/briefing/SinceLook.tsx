import { useMemo } from "react";
import type { Event } from "../api/types";
import { LevelSwitch } from "../event/LevelSwitch";
import { type Display, isShown } from "../event/level";
import { StoryView } from "../event/StoryView";
import { type Story, tell } from "../event/story";
import { useDisplay } from "../event/useDisplay";
import { Time } from "../ui/Time";
import type { Look } from "./look";

interface SinceLookProps {
  look: Look | undefined;
  events: readonly Event[];
  onSeen: () => void;
}

/** What happened since a person last said "seen", told by run. */
export function SinceLook({ look, events, onSeen }: SinceLookProps) {
  const [display, setDisplay] = useDisplay();
  const stories = useMemo(
    () => tell(events).filter((story) => story.events.some((event) => isShown(event, display))),
    [events, display],
  );
  return (
    <section aria-labelledby="since-title" className="panel">
      <header className="panel-head">
        <h2 id="since-title">{look ? "Since you last looked" : "What happened lately"}</h2>
        <LevelSwitch display={display} onChange={setDisplay} />
      </header>
      {stories.length === 0 ? (
        <p className="quiet">
          {look ? (
            <>
              Nothing new. You last looked <Time at={look.at} />.
            </>
          ) : (
            "Nothing has happened yet. Send an agent a message, and its work will be told here."
          )}
        </p>
      ) : (
        <>
          <ol className="stories" aria-live="polite" aria-relevant="additions">
            {stories.map((story) => (
              <StoryView key={story.id} story={story} lines={linesOf(story, display)} />
            ))}
          </ol>
          <footer className="panel-foot">
            <button type="button" className="button small" onClick={onSeen}>
              Mark all as seen
            </button>
            {look && (
              <span className="quiet">
                You last looked <Time at={look.at} />.
              </span>
            )}
          </footer>
        </>
      )}
    </section>
  );
}

/** At the plain level the sentence says it all; below it, the single events are what was asked for. */
function linesOf(story: Story, display: Display): readonly Event[] {
  if (display === "info" && story.runKey) return [];
  return story.events.filter((event) => isShown(event, display));
}
