import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { decisionsQuery, moreLines, runQuery, TRANSCRIPT_LINES, transcriptQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { ParkedCard } from "../budget/ParkedCard";
import { Decisions } from "../decision/Decisions";
import { labels } from "../labels";
import { type LiveText, liveText } from "../live/deltas";
import { PlainHeader } from "../shell/PlainHeader";
import { useTitle } from "../shell/useTitle";
import { runContentOf } from "../transcript/parts";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Skeleton } from "../ui/Skeleton";
import { WhyPanel } from "../why/WhyView";
import { CauseView } from "./CauseView";
import { FailureView } from "./FailureView";
import { QuarantineCard } from "./QuarantineCard";
import { RelatedRuns } from "./RelatedRuns";
import { RunFacts } from "./RunFacts";
import { RunHeader } from "./RunHeader";
import { Steps } from "./Steps";
import { WaterfallView } from "./WaterfallView";

/** One run: its cause, its steps with the rule that allowed each, and its result. */
export function RunPage({ agent, runKey, liveTexts }: { agent: AgentStatus; runKey: string; liveTexts: LiveText }) {
  const run = useQuery(runQuery(runKey));
  const [lines, setLines] = useState(TRANSCRIPT_LINES);
  const transcript = useQuery(transcriptQuery(agent.agent_id, lines));
  const more = moreLines(lines);
  const decisions = useQuery(decisionsQuery);
  useTitle(labels.run.tabTitle(agent.agent_id));
  if (!run.data) {
    return (
      <>
        <PlainHeader title={labels.run.tabTitle(agent.agent_id)} />
        {run.error ? (
          <ErrorNotice action={labels.run.loadAction} error={run.error} onRetry={() => void run.refetch()} />
        ) : (
          <Skeleton lines={8} label={labels.run.loading} />
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
            <div className="panel attention">
              <QuarantineCard agentId={agent.agent_id} runKey={runKey} fault={run.data.fault} level={2} />
            </div>
          )}
          {run.data.parked && (
            <div className="panel attention">
              <ParkedCard parked={run.data.parked} agentId={run.data.agent_id} level={2} />
            </div>
          )}
          {run.data.failure_artifact && <FailureView failure={run.data.failure_artifact} />}
          {run.data.unreadable && (
            <p className="notice">
              <Icon name="alert" /> {labels.run.unreadable(run.data.unreadable)}
            </p>
          )}
          {run.data.final_text !== "" && (
            <section className="panel answer" aria-labelledby="answer-title">
              <h2 id="answer-title">{labels.run.result}</h2>
              <ModelText text={run.data.final_text} />
            </section>
          )}
          <WaterfallView run={run.data} />
          <Steps run={run.data} content={content} live={liveText(liveTexts, runKey)} />
          {transcript.data && !content && more && (
            <button type="button" className="button small" onClick={() => setLines(more)}>
              {labels.run.loadOlder}
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
