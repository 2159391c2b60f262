import { lazy, Suspense } from "react";
import { agentName } from "../agent/name";
import type { Event } from "../api/types";
import { labels } from "../labels";
import { agentPath, Link, runPath } from "../shell/router";
import { oneLine } from "../text/number";
import { visibleText } from "../text/visible";
import { Time } from "../ui/Time";
import { EventLine } from "./EventLine";
import { type CountedRun, cost, headline, type RunStory, toneOf } from "./runStory";

// The briefing is the first load, and its text is readable without the renderer of Markdown.
const ModelText = lazy(async () => ({ default: (await import("../ui/ModelText")).ModelText }));

const PROMPT_CHARS_MAX = 90;

interface RunStoryViewProps {
  story: RunStory;
  /** How many neighbours it stands for. */
  count: number;
  /** The run as the server counts it. */
  run?: CountedRun;
  lines: readonly Event[];
}

/** One run, or one event without a run: a headline, the last reply or error, and its cost. */
export function RunStoryView({ story, count, run, lines }: RunStoryViewProps) {
  const prompt = story.prompt ? labels.common.quote(oneLine(story.prompt, PROMPT_CHARS_MAX)) : labels.run.unnamed;
  const spent = run ? cost(run) : "";
  return (
    <li className="story">
      <span className={`dot ${toneOf(story, run)}`} aria-hidden="true" />
      <div>
        <p className="story-head">
          <Link to={agentPath(story.agentId)} className="story-agent">
            {agentName(story.agentId)}
          </Link>{" "}
          {headline(story, run)} {story.runKey && <Link to={runPath(story.agentId, story.runKey)}>{prompt}</Link>}{" "}
          {count > 1 && <b>{labels.story.timesInARow(count)}</b>}
        </p>
        {story.quote && story.outcome && (
          <div className="story-quote">
            <Suspense fallback={<p>{visibleText(story.quote)}</p>}>
              <ModelText text={story.quote} />
            </Suspense>
          </div>
        )}
        <p className="story-foot">
          <Time at={story.at} />
          {spent !== "" && ` · ${spent}`}
        </p>
        {lines.length > 0 && (
          <ol className="event-lines">
            {lines.map((event) => (
              <EventLine key={event.seq} event={event} />
            ))}
          </ol>
        )}
      </div>
    </li>
  );
}
