import { useQuery } from "@tanstack/react-query";
import { whyQuery } from "../api/queries";
import type { Hold, WhyRun } from "../api/types";
import { wakeGateText } from "../run/text";
import { Link, runPath } from "../shell/router";
import { toSentence } from "../text/sentence";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";

/** What led to a run, or to none, as it was written down when it was decided. */
export function WhyPanel({ runKey }: { runKey: string }) {
  const why = useQuery(whyQuery(runKey));
  if (why.error && !why.data)
    return <ErrorNotice action="read why" error={why.error} onRetry={() => void why.refetch()} />;
  return why.data ? <WhyView why={why.data} /> : null;
}

export function WhyView({ why }: { why: WhyRun }) {
  return (
    <section className="panel" aria-labelledby="why-title">
      <h2 id="why-title">Why</h2>
      <p>{toSentence(why.summary)}</p>
      {why.cause.tokens && why.cause.tokens.length > 0 && (
        <p className="quiet">
          Said by the change: <code>{why.cause.tokens.join(" ")}</code>
        </p>
      )}
      {why.gates.length > 0 && (
        <ul className="gates" aria-label="Gates">
          {why.gates.map((gate, place) => (
            <li key={`${place}-${gate.gate}`} className={gate.passed ? "good" : "bad"}>
              <Icon name={gate.passed ? "check" : "cross"} /> {wakeGateText(gate)}
              {gate.detail && <span className="quiet"> — {gate.detail}</span>}
            </li>
          ))}
        </ul>
      )}
      {why.absorbed_by && (
        <p>
          <Link to={runPath(why.agent_id, why.absorbed_by)}>The run that took it up</Link>
        </p>
      )}
      {why.absorbed_count > 0 && (
        <>
          <p className="call-label">Took up as well ({why.absorbed_count})</p>
          <ul>
            {why.absorbed.map((wake) => (
              <li key={wake.run_key}>
                {wake.cause.words}, <Time at={wake.at} />
              </li>
            ))}
          </ul>
        </>
      )}
      <Holds holds={why.holds} />
      {why.not_before && (
        <p>
          It waits until <code>{why.not_before}</code>.
        </p>
      )}
      {why.way_out && <p>What would have to change: {why.way_out}.</p>}
    </section>
  );
}

/** What holds an agent right now, each with its way out. */
export function Holds({ holds }: { holds: readonly Hold[] }) {
  if (holds.length === 0) return null;
  return (
    <ul className="gates" aria-label="What holds it">
      {holds.map((hold) => (
        <li key={hold.code} className="bad">
          <Icon name="cross" /> {toSentence(hold.words)}
          {hold.way_out && <span className="quiet"> To change that: {hold.way_out}.</span>}
        </li>
      ))}
    </ul>
  );
}
