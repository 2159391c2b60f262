import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ModelDialog } from "../agent/ModelFact";
import { retryRun } from "../api/calls";
import { ACTIVITY_KEYS, ATTENTION_KEYS, invalidate } from "../api/keys";
import { agentsQuery, budgetQuery, runtimeQuery } from "../api/queries";
import type { NextStep } from "../api/types";
import { CapButton } from "../budget/CapButton";
import { labels } from "../labels";
import { Link, navigate, setupPath, threadPath } from "../shell/router";
import { newThread } from "../transcript/thread";
import { ArmedButton } from "../ui/ArmedButton";
import { ErrorNotice } from "../ui/ErrorNotice";
import { QuarantineActions } from "./QuarantineActions";

interface NextStepsProps {
  agentId: string;
  runKey: string;
  steps: readonly NextStep[];
}

/** A button for each thing that a person can do about a run. Steps that no button can do are left to the text. */
export function NextSteps({ agentId, runKey, steps }: NextStepsProps) {
  const budget = useQuery({ ...budgetQuery, enabled: steps.includes("raise_cap") });
  return (
    <>
      {steps.includes("retry") && <RetryButton runKey={runKey} />}
      {steps.includes("check_provider") && (
        <Link to={setupPath("providers")} className="button small">
          {labels.run.checkProvider}
        </Link>
      )}
      {steps.includes("change_model") && <ModelButton agentId={agentId} />}
      {steps.includes("new_conversation") && (
        <ArmedButton onPress={() => navigate(threadPath(agentId, newThread()))}>{labels.thread.new}</ArmedButton>
      )}
      {steps.includes("raise_cap") && <CapButton budget={budget.data} label={labels.budget.raiseCap} isInCard />}
      {steps.includes("resume") && <QuarantineActions runKey={runKey} />}
    </>
  );
}

/** Runs an ended run again. The server accepts it once, however often the button is pressed. */
export function RetryButton({ runKey }: { runKey: string }) {
  const client = useQueryClient();
  const retrying = useMutation({
    mutationFn: () => retryRun(runKey),
    onSuccess: () => invalidate(client, [...ATTENTION_KEYS, ...ACTIVITY_KEYS]),
  });
  return (
    <>
      <ArmedButton onPress={() => retrying.mutate()} disabled={retrying.isPending || retrying.isSuccess}>
        {retrying.isSuccess ? labels.run.retried : labels.run.retry}
      </ArmedButton>
      {retrying.error && <ErrorNotice action={labels.run.retryAction} error={retrying.error} />}
    </>
  );
}

function ModelButton({ agentId }: { agentId: string }) {
  const [isOpen, setOpen] = useState(false);
  const agents = useQuery(agentsQuery);
  const runtime = useQuery(runtimeQuery);
  const agent = agents.data?.find((one) => one.agent_id === agentId);
  if (!agent) return null;
  return (
    <>
      <ArmedButton onPress={() => setOpen(true)}>{labels.agent.changeModel}</ArmedButton>
      {isOpen && <ModelDialog agent={agent} fallback={runtime.data?.model.reference} onClose={() => setOpen(false)} />}
    </>
  );
}
