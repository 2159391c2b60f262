import { useQuery } from "@tanstack/react-query";
import { decisionsQuery, runQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { ParkedCard } from "../budget/ParkedCard";
import { Decisions } from "../decision/Decisions";
import { labels } from "../labels";
import { type LiveText, liveText } from "../live/deltas";
import { PlainHeader } from "../shell/PlainHeader";
import { useTitle } from "../shell/useTitle";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Skeleton } from "../ui/Skeleton";
import { WhyPanel } from "../why/WhyView";
import { CauseView } from "./CauseView";
import { ChangesView } from "./ChangesView";
import { FailureView } from "./FailureView";
import { QuarantineCard } from "./QuarantineCard";
import { RelatedRuns } from "./RelatedRuns";
import { RunFacts } from "./RunFacts";
import { RunHeader } from "./RunHeader";
import { Steps } from "./Steps";

/** One run: its cause, its steps with the rule that allowed each, and its result. */
export function RunPage({ agent, runKey, liveTexts }: { agent: AgentStatus; runKey: string; liveTexts: LiveText }) {
  const run = useQuery(runQuery(runKey));
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
          {run.data.failure_artifact && <FailureView failure={run.data.failure_artifact} run={run.data} />}
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
          <ChangesView run={run.data} />
          <Steps run={run.data} live={liveText(liveTexts, runKey)} />
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
