import type { RunCause } from "../api/types";
import { labels } from "../labels";
import { ModelText } from "../ui/ModelText";
import { Time } from "../ui/Time";
import { authorityText, causeText, humanizeCode } from "./text";

/** The message that started a run, where it came from, and whose instruction it is. */
export function CauseView({ cause }: { cause: RunCause }) {
  const isRefused = cause.verdict !== undefined && cause.verdict !== "run";
  return (
    <section className="panel" aria-labelledby="cause-title">
      <h2 id="cause-title">{labels.run.cause}</h2>
      <p>
        {causeText(cause)} <Time at={cause.admitted_at} />:
      </p>
      <blockquote className="cause-text" tabIndex={0}>
        <ModelText text={cause.text} />
      </blockquote>
      {cause.verdict === undefined && <p className="quiet">{labels.run.notDecided}</p>}
      {isRefused && <p>{labels.run.notRun(humanizeCode(cause.verdict as string))}</p>}
      <details className="step-details">
        <summary>{labels.run.details}</summary>
        <p className="quiet">{authorityText(cause)}.</p>
      </details>
    </section>
  );
}
