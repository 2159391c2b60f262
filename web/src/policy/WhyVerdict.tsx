import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { stepPolicyQuery } from "../api/queries";
import { labels } from "../labels";
import { visibleText } from "../text/visible";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";

// Most verdicts are never questioned, so the explanation is not part of the first load.
const ExplanationView = lazy(async () => ({ default: (await import("./ExplanationView")).ExplanationView }));

interface WhyVerdictProps {
  runKey: string;
  operationId: string;
  tool: string;
}

/** Opens to why a call is permitted, asked about or denied. It is judged when it is opened, by the policies of now. */
export function WhyVerdict({ runKey, operationId, tool }: WhyVerdictProps) {
  const [isOpen, setOpen] = useState(false);
  const explanation = useQuery({ ...stepPolicyQuery(runKey, operationId), enabled: isOpen });
  const skeleton = <Skeleton lines={5} label={labels.policy.whyLoading} />;
  return (
    <details className="step-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={labels.policy.whyOf(visibleText(tool))}>{labels.policy.why}</summary>
      {isOpen && !explanation.data && !explanation.error && skeleton}
      {isOpen && explanation.error && (
        <ErrorNotice
          action={labels.policy.whyAction}
          error={explanation.error}
          onRetry={() => void explanation.refetch()}
        />
      )}
      {isOpen && explanation.data && (
        <Suspense fallback={skeleton}>
          <ExplanationView explanation={explanation.data} />
        </Suspense>
      )}
    </details>
  );
}
