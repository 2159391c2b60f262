import { useQuery } from "@tanstack/react-query";
import { whyNotQuery } from "../api/queries";
import type { WhyNot } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";
import { Time } from "../ui/Time";
import { Holds, needsPerson } from "./WhyView";

/** The rows of each list; the command line and the API have the rest. */
const SHOWN_MAX = 5;

/** What kept an agent from starting a run during the last day. */
export function WhyNotPanel({ agentId }: { agentId: string }) {
  const why = useQuery(whyNotQuery(agentId));
  if (why.error && !why.data)
    return <ErrorNotice action={labels.whyNot.action} error={why.error} onRetry={() => void why.refetch()} />;
  return <WhyNotView why={why.data} />;
}

/** Open when a person could change something; in normal work, and while it is loading, only its title is shown. */
export function WhyNotView({ why }: { why: WhyNot | undefined }) {
  const isUnusual = why !== undefined && (why.holds.some(needsPerson) || why.refused.length > 0);
  return (
    <section className="panel" id="why-not" aria-labelledby="why-not-title">
      <details className="why-not" open={isUnusual}>
        <summary>
          <Icon name="chevron" className="call-chevron" />
          <h2 id="why-not-title">{labels.whyNot.title}</h2>
        </summary>
        {why && <WhyNotBody why={why} />}
      </details>
    </section>
  );
}

function WhyNotBody({ why }: { why: WhyNot }) {
  return (
    <div className="why-not-body">
      <p>{toSentence(why.summary)}</p>
      <Holds holds={why.holds} />
      {why.queued.length > 0 && (
        <Rows title={labels.whyNot.queued(why.queued_count)}>
          {why.queued.slice(0, SHOWN_MAX).map((row) => (
            <li key={row.run_key}>
              {row.cause.description}
              <span className="quiet">
                {" "}
                ·{" "}
                {row.not_before ? (
                  <>
                    {labels.whyNot.until} <Time at={row.not_before} isFuture />
                  </>
                ) : (
                  labels.whyNot.nextInQueue
                )}
              </span>
            </li>
          ))}
        </Rows>
      )}
      {why.refused.length > 0 && (
        <Rows title={labels.whyNot.refused}>
          {why.refused.slice(0, SHOWN_MAX).map((wake) => (
            <li key={wake.run_key}>
              <Time at={wake.at} />: {wake.cause.description}. {toSentence(wake.message)}
              {wake.hint && (
                <span className="quiet">
                  {" "}
                  <InlineText text={labels.whyNot.toChange(wake.hint)} />
                </span>
              )}
            </li>
          ))}
        </Rows>
      )}
      {why.refusals.length > 0 && (
        <Rows title={labels.whyNot.refusedByDay}>
          {why.refusals.slice(0, SHOWN_MAX).map((row) => (
            <li key={`${row.day}-${row.source}-${row.code}`}>
              {row.day}: {row.count} × {row.message} <span className="quiet">({row.source})</span>
            </li>
          ))}
        </Rows>
      )}
      {why.schedules.length > 0 && (
        <Rows title={labels.whyNot.nextFirings}>
          {why.schedules.slice(0, SHOWN_MAX).map((row) => (
            <li key={row.schedule_id}>
              {row.schedule_id}: {row.next_at ? <Time at={row.next_at} isFuture /> : labels.whyNot.never}{" "}
              <span className="quiet">({row.status})</span>
            </li>
          ))}
        </Rows>
      )}
    </div>
  );
}

function Rows({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <>
      <p className="call-label">{title}</p>
      <ul className="why-not-rows" aria-label={title}>
        {children}
      </ul>
    </>
  );
}
