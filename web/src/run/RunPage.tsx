import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { cancelRun } from "../api/calls";
import { keys } from "../api/keys";
import { decisionsQuery, moreLines, runQuery, TRANSCRIPT_LINES, transcriptQuery } from "../api/queries";
import type { AgentStatus, Run } from "../api/types";
import { NotDurableNote } from "../brake/NotDurableNote";
import { dollars, isSpent } from "../budget/money";
import { ParkedBanner } from "../budget/ParkedBanner";
import { Decisions } from "../decision/Decisions";
import { type LiveText, liveText } from "../live/deltas";
import { PlainHeader } from "../shell/PlainHeader";
import { agentPath, briefingPath, Link } from "../shell/router";
import { useTitle } from "../shell/useTitle";
import { oneLine, pluralize } from "../text/number";
import { toSentence } from "../text/sentence";
import { formatDuration } from "../text/time";
import { runContentOf } from "../transcript/parts";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";
import { WhyPanel } from "../why/WhyView";
import { CauseView } from "./CauseView";
import { FailureView } from "./FailureView";
import { QuarantineActions } from "./QuarantineActions";
import { RelatedRuns } from "./RelatedRuns";
import { fallbackOf, tokenText } from "./round";
import { Steps } from "./Steps";
import { isOpen, outcomeText, outcomeTone } from "./text";

const TITLE_CHARS_MAX = 80;

/** One run: why it began, everything it did and under which rule, and how it ended. */
export function RunPage({ agent, runKey, liveTexts }: { agent: AgentStatus; runKey: string; liveTexts: LiveText }) {
  const run = useQuery(runQuery(runKey));
  const [lines, setLines] = useState(TRANSCRIPT_LINES);
  const transcript = useQuery(transcriptQuery(agent.agent_id, lines));
  const more = moreLines(lines);
  const decisions = useQuery(decisionsQuery);
  useTitle(`Run of ${agent.agent_id}`);
  if (!run.data) {
    return (
      <>
        <PlainHeader title={`Run of ${agent.agent_id}`} />
        {run.error ? (
          <ErrorNotice action="read this run" error={run.error} onRetry={() => void run.refetch()} />
        ) : (
          <Skeleton lines={8} label="Loading the run" />
        )}
      </>
    );
  }
  const content = transcript.data && runContentOf(transcript.data, runKey);
  return (
    <>
      <RunHeader run={run.data} />
      <div className="columns">
        <div className="column">
          <Decisions decisions={(decisions.data ?? []).filter((one) => one.run_key === runKey)} />
          {run.data.outcome === "quarantined" && (
            <section className="notice" aria-labelledby="quarantine-title">
              <Icon name="knot" />
              <div>
                <h2 id="quarantine-title">This run cannot go on and was set aside</h2>
                {run.data.fault && <p>{toSentence(run.data.fault)}</p>}
                <QuarantineActions runKey={runKey} />
              </div>
            </section>
          )}
          {run.data.parked && <ParkedBanner parked={run.data.parked} agentId={run.data.agent_id} />}
          {run.data.failure_artifact && <FailureView failure={run.data.failure_artifact} />}
          {run.data.unreadable && (
            <p className="notice">
              <Icon name="alert" /> The state of this run cannot be read ({run.data.unreadable}); what is shown is what
              its rows tell.
            </p>
          )}
          {run.data.final_text !== "" && (
            <section className="panel answer" aria-labelledby="answer-title">
              <h2 id="answer-title">What came of it</h2>
              <ModelText text={run.data.final_text} />
            </section>
          )}
          <Steps run={run.data} content={content} live={liveText(liveTexts, runKey)} />
          {transcript.data && !content && more && (
            <button type="button" className="button small" onClick={() => setLines(more)}>
              Read further back, for what was said and printed
            </button>
          )}
        </div>
        <div className="column side">
          {run.data.cause && <CauseView cause={run.data.cause} />}
          <WhyPanel runKey={runKey} />
          <RelatedRuns run={run.data} />
          <RunFacts run={run.data} />
        </div>
      </div>
    </>
  );
}

/** What the run was asked, how it stands, and the way to stop it. */
export function RunHeader({ run }: { run: Run }) {
  const client = useQueryClient();
  const cancelling = useMutation({
    mutationFn: () => cancelRun(run.run_key),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.run(run.run_key) }),
  });
  const isAsked = cancelling.isSuccess && isOpen(run.outcome);
  const notDurable = cancelling.data && "not_durable" in cancelling.data ? cancelling.data.not_durable : undefined;
  return (
    <div className="page-head">
      <nav aria-label="Where you are" className="crumbs">
        <Link to={briefingPath}>Briefing</Link> / <Link to={agentPath(run.agent_id)}>{run.agent_id}</Link>
      </nav>
      <div className="agent-head">
        <div className="agent-head-text">
          <h1 tabIndex={-1}>
            {run.cause ? `“${oneLine(run.cause.text, TITLE_CHARS_MAX)}”` : `Run of ${run.agent_id}`}
          </h1>
          <p className="lede" role="status">
            <Badge tone={run.parked ? "warn" : outcomeTone(run.outcome)}>
              {run.parked ? "Waits for money" : outcomeText(run.outcome)}
            </Badge>{" "}
            {summary(run)}
          </p>
        </div>
        {isOpen(run.outcome) && (
          <button
            type="button"
            className="button"
            onClick={() => cancelling.mutate()}
            disabled={cancelling.isPending || isAsked}
          >
            <Icon name="cross" /> {isAsked ? "Stopping…" : "Stop this run"}
          </button>
        )}
      </div>
      {isAsked && <NotDurableNote notDurable={notDurable} />}
      {cancelling.error && <ErrorNotice action="stop the run" error={cancelling.error} />}
    </div>
  );
}

/** The run in one line. Doubt and refusal are said even when the run went well otherwise. */
function summary(run: Run): string {
  const fallback = fallbackOf(run);
  const parts = [
    run.ended_at ? `in ${formatDuration(run.duration_ms)}` : "",
    pluralize(run.tool_calls.length, "action"),
    pluralize(run.rounds, "model round"),
    run.token_usage.total_tokens > 0 ? pluralize(run.token_usage.total_tokens, "token") : "",
    isSpent(run.cost_usd) ? dollars(run.cost_usd) : "",
    fallback === undefined ? "" : `fell back to ${fallback}`,
    run.denied.length > 0 ? `${run.denied.length} denied` : "",
    run.unknown.length > 0 ? `${run.unknown.length} with an unknown outcome` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function RunFacts({ run }: { run: Run }) {
  const requested = run.provider_attempt_timeline?.requested_model_ref;
  const answered = run.provider_attempt_timeline?.winning_model_ref ?? run.model;
  const tokens = tokenText(run.token_usage);
  return (
    <section className="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">Facts</h2>
      <dl className="facts stacked">
        <div>
          <dt>Began</dt>
          <dd>
            <Time at={run.started_at} />
          </dd>
        </div>
        {answered && (
          <div>
            <dt>Who answered</dt>
            <dd>
              {answered}
              {requested && requested !== answered && <span className="quiet">, in the place of {requested}</span>}
            </dd>
          </div>
        )}
        {run.workspace && (
          <div>
            <dt>Worked in</dt>
            <dd>
              <code>{run.workspace}</code>
            </dd>
          </div>
        )}
        {tokens !== "" && (
          <div>
            <dt>Tokens</dt>
            <dd>{tokens}</dd>
          </div>
        )}
        <div>
          <dt>Cost</dt>
          <dd>{isSpent(run.cost_usd) ? dollars(run.cost_usd) : "nothing"}</dd>
        </div>
        <div>
          <dt>Run key</dt>
          <dd>
            <code>{run.run_key}</code>
          </dd>
        </div>
      </dl>
    </section>
  );
}
