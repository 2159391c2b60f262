import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { stepQuery } from "../api/queries";
import type { Run } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";
import { formatDuration } from "../text/time";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Attempts } from "./Attempts";
import { RunFromHere } from "./RunFromHere";
import { gateText, type Item, type ModelAttempt, roundCost, tokenText } from "./round";
import { StepBar } from "./StepBar";
import { spentText, statusText, verdictText } from "./text";
import type { Waterfall } from "./waterfall";

interface RoundViewProps {
  round: Extract<Item, { kind: "round" }>;
  run: Run;
  /** The number of the step in its run. */
  number: number;
  isSubRun: boolean;
  waterfall: Waterfall;
}

/** One model round with its reply. Its status is that of its last attempt. */
export function RoundView({ round: { attempts }, run, number, isSubRun, waterfall }: RoundViewProps) {
  const { step } = attempts.at(-1) as ModelAttempt;
  const { text, tone } = statusText(step);
  const only = attempts.length === 1 ? attempts[0]?.attempt : undefined;
  const isPlain = only?.outcome === "succeeded";
  // The error of a recorded attempt is shown with the attempt.
  const verdict = attempts.at(-1)?.attempt ? "" : verdictText(step);
  const gate = isPlain ? gateText(only) : "";
  const fallbackTo = attempts.findLast((one) => one.fallbackTo)?.fallbackTo;
  const rows = attempts.flatMap((one) => waterfall.rows.get(one.step.operation_id) ?? []);
  const start = rows[0] && labels.waterfall.offset(formatDuration(rows[0].offsetMs));
  return (
    <li className={`step ${tone}`}>
      <span className="step-icon" aria-hidden="true">
        <Icon name="spark" />
      </span>
      <div className="step-text">
        <p className="step-head">
          <b>{labels.step.modelRequest}</b>
          <span className="quiet">{step.name}</span>
          <Badge tone={tone}>{text}</Badge>
          {fallbackTo && <Badge tone="warn">{labels.run.fallbackTo(fallbackTo)}</Badge>}
          {attempts.length > 1 && <span className="quiet">{labels.attempt.count(attempts.length)}</span>}
          <span className="step-cost quiet">
            {[start, spentText(step), roundCost(attempts)].filter(Boolean).join(" · ")}
          </span>
        </p>
        <StepBar rows={rows} totalMs={waterfall.totalMs} />
        <Reply run={run} step={step} />
        {verdict !== "" && <p className="step-why">{verdict}.</p>}
        {isPlain ? (
          <p className="attempt-usage">
            {[labels.attempt.by(only.provider), tokenText(only.token_usage)].filter(Boolean).join(" · ")}
          </p>
        ) : (
          <Attempts attempts={attempts} />
        )}
        {gate !== "" && (
          <details className="step-details">
            <summary>{labels.run.details}</summary>
            <p className="attempt-usage">{gate}.</p>
          </details>
        )}
        {!isSubRun && (
          <RunFromHere run={run} stepId={step.operation_id} name={labels.step.numbered(number, step.name)} />
        )}
      </div>
    </li>
  );
}

/** The reply of a round. The last one is the result, which the page shows above. */
function Reply({ run, step }: { run: Run; step: ModelAttempt["step"] }) {
  const [isWhole, setWhole] = useState(false);
  const whole = useQuery({ ...stepQuery(run.run_key, step.operation_id), enabled: isWhole });
  const reply = (whole.data ?? step).output;
  if (step.status !== "ok" || !reply || reply.text.trim() === "") return null;
  if (reply.text.trim() === run.final_text.trim()) return <p className="step-reply">{labels.step.isResult}</p>;
  return (
    <div className="step-reply">
      <ModelText text={reply.text} />
      {whole.error && <ErrorNotice action={labels.waterfall.wholeAction} error={whole.error} />}
      {reply.truncated && (
        <p className="step-cut">
          <small className="quiet">{labels.waterfall.cut(formatBytes(reply.bytes))}</small>{" "}
          <button type="button" className="button small" onClick={() => setWhole(true)} disabled={whole.isFetching}>
            {whole.isFetching ? labels.common.fetching : labels.waterfall.whole}
          </button>
        </p>
      )}
    </div>
  );
}
