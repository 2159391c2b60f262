import { useQuery } from "@tanstack/react-query";
import { whyQuery } from "../api/queries";
import type { Hold, WhyRun } from "../api/types";
import { labels } from "../labels";
import { wakeGateText } from "../run/text";
import { Link, runPath } from "../shell/router";
import { toSentence } from "../text/sentence";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";

/** As many gates as most runs have: the space that the page keeps for them. */
const GATES_USUAL = 11;

/** Why a run started or not, as it was recorded when it was decided. */
export function WhyPanel({ runKey }: { runKey: string }) {
  const why = useQuery(whyQuery(runKey));
  if (why.error && !why.data)
    return <ErrorNotice action={labels.why.action} error={why.error} onRetry={() => void why.refetch()} />;
  return why.data ? <WhyView why={why.data} /> : <Skeleton lines={GATES_USUAL} label={labels.why.title} />;
}

export function WhyView({ why }: { why: WhyRun }) {
  return (
    <section className="panel" aria-labelledby="why-title">
      <h2 id="why-title">{labels.why.title}</h2>
      <p>{toSentence(why.summary)}</p>
      {why.cause.tokens && why.cause.tokens.length > 0 && (
        <p className="quiet">
          {labels.why.tokens} <code>{why.cause.tokens.join(" ")}</code>
        </p>
      )}
      {why.gates.length > 0 && (
        <ul className="gates" aria-label={labels.why.gates}>
          {why.gates.map((gate, place) => (
            <li key={`${place}-${gate.gate}`} className={gate.passed ? "good" : "bad"}>
              <Icon name={gate.passed ? "check" : "cross"} /> {wakeGateText(gate)}
              {gate.detail && <span className="quiet"> · {gate.detail}</span>}
            </li>
          ))}
        </ul>
      )}
      {why.absorbed_by && (
        <p>
          <Link to={runPath(why.agent_id, why.absorbed_by)}>{labels.why.absorbedBy}</Link>
        </p>
      )}
      {why.absorbed_count > 0 && (
        <>
          <p className="call-label">{labels.why.absorbed(why.absorbed_count)}</p>
          <ul>
            {why.absorbed.map((wake) => (
              <li key={wake.run_key}>
                {wake.cause.description}, <Time at={wake.at} />
              </li>
            ))}
          </ul>
        </>
      )}
      <Holds holds={why.holds} />
      {why.not_before && (
        <p>
          {labels.why.waitsUntil} <code>{why.not_before}</code>.
        </p>
      )}
      {why.hint && (
        <p>
          <InlineText text={labels.whyNot.toChange(why.hint)} />
        </p>
      )}
    </section>
  );
}

/** Whether a hold ends only when a person acts. The others, such as an open run, are part of normal work. */
export function needsPerson({ code, hint, until }: Hold): boolean {
  return code !== "run_open" && hint !== undefined && until === undefined;
}

/** What holds an agent right now, each with a hint. */
export function Holds({ holds }: { holds: readonly Hold[] }) {
  if (holds.length === 0) return null;
  return (
    <ul className="gates" aria-label={labels.whyNot.holds}>
      {holds.map((hold) => (
        <li key={hold.code} className={needsPerson(hold) ? "warn" : ""}>
          <Icon name={needsPerson(hold) ? "alert" : "pause"} /> {toSentence(hold.message)}
          {hold.hint && (
            <span className="quiet">
              {" "}
              <InlineText text={labels.whyNot.toChange(hold.hint)} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
