import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { runQuery, runsSinceQuery } from "../api/queries";
import type { Event } from "../api/types";
import { LevelSwitch } from "../event/LevelSwitch";
import { type Display, isShown } from "../event/level";
import { RunStoryView } from "../event/RunStoryView";
import { type CountedRun, groupByRun, joinEqual, type RunStory } from "../event/runStory";
import { useDisplay } from "../event/useDisplay";
import { labels } from "../labels";
import { Time } from "../ui/Time";
import type { LastSeen } from "./lastSeen";

/** Runs of stories that are asked for one by one. The stories of still older runs have no counts. */
const EARLIER_RUNS_MAX = 20;

interface SinceLastSeenProps {
  lastSeen: LastSeen | undefined;
  events: readonly Event[];
  onMarkSeen: () => void;
}

/** What happened since the reader marked everything as seen, grouped by run. */
export function SinceLastSeen({ lastSeen, events, onMarkSeen }: SinceLastSeenProps) {
  const [display, setDisplay] = useDisplay();
  const stories = useMemo(
    () => groupByRun(events).filter((story) => story.events.some((event) => isShown(event, display))),
    [events, display],
  );
  const runs = useRuns(events, stories);
  // The more detailed levels list the events of each run.
  const shown = display === "info" ? joinEqual(stories) : stories.map((story) => ({ story, count: 1 }));
  return (
    <section aria-labelledby="since-title" className="panel">
      <header className="panel-head">
        <h2 id="since-title">{lastSeen ? labels.briefing.sinceLastSeen : labels.briefing.recent}</h2>
        <LevelSwitch display={display} onChange={setDisplay} />
      </header>
      {stories.length === 0 ? (
        <p className="quiet">
          {lastSeen ? (
            <>
              {labels.briefing.nothingNew} <Time at={lastSeen.at} />.
            </>
          ) : (
            labels.briefing.noActivity
          )}
        </p>
      ) : (
        <>
          <ol className="stories" aria-live="polite" aria-relevant="additions">
            {shown.map(({ story, count }) => (
              <RunStoryView
                key={story.id}
                story={story}
                count={count}
                run={story.runKey ? runs.get(story.runKey) : undefined}
                lines={linesOf(story, display)}
              />
            ))}
          </ol>
          <footer className="panel-foot">
            <button type="button" className="button small" onClick={onMarkSeen}>
              {labels.briefing.markSeen}
            </button>
            {lastSeen && (
              <span className="quiet">
                {labels.briefing.lastSeen} <Time at={lastSeen.at} />.
              </span>
            )}
          </footer>
        </>
      )}
    </section>
  );
}

/**
 * The runs of these stories by key, as the server counts them. Runs that started before the first event are not in the list
 * of new runs, and are asked for one by one.
 */
function useRuns(events: readonly Event[], stories: readonly RunStory[]): ReadonlyMap<string, CountedRun> {
  const since = events[0]?.at;
  const { data: listed } = useQuery({ ...runsSinceQuery(since ?? ""), enabled: since !== undefined });
  const known = useMemo(() => new Map((listed ?? []).map((run) => [run.run_key, run])), [listed]);
  const earlier = listed
    ? stories.flatMap(({ runKey }) => (runKey && !known.has(runKey) ? [runKey] : [])).slice(0, EARLIER_RUNS_MAX)
    : [];
  const asked = useQueries({ queries: earlier.map(runQuery) });
  return new Map<string, CountedRun>([
    ...known,
    ...asked.flatMap(({ data }): [string, CountedRun][] => (data ? [[data.run_key, data]] : [])),
  ]);
}

/** At the lowest level a run is one sentence; at the other levels its events are listed. */
function linesOf(story: RunStory, display: Display): readonly Event[] {
  if (display === "info" && story.runKey) return [];
  return story.events.filter((event) => isShown(event, display));
}
