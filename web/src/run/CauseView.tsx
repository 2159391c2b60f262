import type { RunCause } from "../api/types";
import { Time } from "../ui/Time";
import { authorityText, causeText, humanizeCode } from "./text";

/** Why a run began, or does not: whose word it was. What was checked stands beside it. */
export function CauseView({ cause }: { cause: RunCause }) {
  const isRefused = cause.verdict !== undefined && cause.verdict !== "run";
  return (
    <section className="panel" aria-labelledby="cause-title">
      <h2 id="cause-title">Why it woke</h2>
      <p>
        {causeText(cause)} <Time at={cause.admitted_at} />:
      </p>
      <blockquote className="cause-text" tabIndex={0}>
        {cause.text}
      </blockquote>
      {cause.verdict === undefined && (
        <p className="quiet">It has not been decided yet: the message waits for its turn.</p>
      )}
      {isRefused && <p>It was not run: {humanizeCode(cause.verdict as string)}.</p>}
      <p className="quiet">{authorityText(cause)}.</p>
    </section>
  );
}
