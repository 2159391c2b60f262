import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { stepPolicyQuery } from "../api/queries";
import { labels } from "../labels";
import { visibleText } from "../text/visible";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { ExplanationView } from "./ExplanationView";

interface WhyVerdictProps {
  runKey: string;
  operationId: string;
  tool: string;
}

/** Opens to why a call is permitted, asked about or denied. It is judged when it is opened, by the policies of now. */
export function WhyVerdict({ runKey, operationId, tool }: WhyVerdictProps) {
  const [isOpen, setOpen] = useState(false);
  const explanation = useQuery({ ...stepPolicyQuery(runKey, operationId), enabled: isOpen });
  return (
    <details className="step-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={labels.policy.whyOf(visibleText(tool))}>{labels.policy.why}</summary>
      {isOpen && !explanation.data && !explanation.error && <Skeleton lines={5} label={labels.policy.whyLoading} />}
      {isOpen && explanation.error && (
        <ErrorNotice
          action={labels.policy.whyAction}
          error={explanation.error}
          onRetry={() => void explanation.refetch()}
        />
      )}
      {isOpen && explanation.data && <ExplanationView explanation={explanation.data} />}
    </details>
  );
}
