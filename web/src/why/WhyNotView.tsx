import { useQuery } from "@tanstack/react-query";
import { whyNotQuery } from "../api/queries";
import type { WhyNot } from "../api/types";
import { toSentence } from "../text/sentence";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";
import { Holds } from "./WhyView";

/** Rows of each kind: the command line and the API have the rest. */
const SHOWN_MAX = 5;

/** What kept an agent from being woken during the last day. */
export function WhyNotPanel({ agentId }: { agentId: string }) {
  const why = useQuery(whyNotQuery(agentId));
  if (why.error && !why.data)
    return <ErrorNotice action="read why not" error={why.error} onRetry={() => void why.refetch()} />;
  return why.data ? <WhyNotView why={why.data} /> : null;
}

export function WhyNotView({ why }: { why: WhyNot }) {
  return (
    <section className="panel" id="why-not" aria-labelledby="why-not-title">
      <h2 id="why-not-title">Why not</h2>
      <p>{toSentence(why.summary)}</p>
      <Holds holds={why.holds} />
      {why.waiting.length > 0 && (
        <Rows title={`Waiting (${why.waiting_count})`}>
          {why.waiting.slice(0, SHOWN_MAX).map((row) => (
            <li key={row.run_key}>
              {row.cause.words}
              {row.not_before ? (
                <span className="quiet"> — until {row.not_before}</span>
              ) : (
                <span className="quiet"> — for its turn</span>
              )}
            </li>
          ))}
        </Rows>
      )}
      {why.refused.length > 0 && (
        <Rows title="Refused">
          {why.refused.slice(0, SHOWN_MAX).map((wake) => (
            <li key={wake.run_key}>
              <Time at={wake.at} />: {wake.cause.words} — {wake.words}
              {wake.way_out && <span className="quiet">. To change that: {wake.way_out}</span>}
            </li>
          ))}
        </Rows>
      )}
      {why.refusals.length > 0 && (
        <Rows title="Refused, by day">
          {why.refusals.slice(0, SHOWN_MAX).map((row) => (
            <li key={`${row.day}-${row.source}-${row.code}`}>
              {row.day}: {row.count} × {row.words} <span className="quiet">({row.source})</span>
            </li>
          ))}
        </Rows>
      )}
      {why.schedules.length > 0 && (
        <Rows title="Next moments">
          {why.schedules.slice(0, SHOWN_MAX).map((row) => (
            <li key={row.schedule_id}>
              <code>{row.next_at ?? "never"}</code> {row.schedule_id} <span className="quiet">({row.status})</span>
            </li>
          ))}
        </Rows>
      )}
    </section>
  );
}

function Rows({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <>
      <p className="call-label">{title}</p>
      <ul aria-label={title}>{children}</ul>
    </>
  );
}
