import { type ReactNode, useState } from "react";
import type { Run, Step } from "../api/types";
import { labels } from "../labels";
import { WhyVerdict } from "../policy/WhyVerdict";
import { firstLine } from "../text/number";
import { formatDuration } from "../text/time";
import { visibleText } from "../text/visible";
import { commandOf } from "../transcript/receipt";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import { RunFromHere } from "./RunFromHere";
import { StepBar } from "./StepBar";
import { parseInput, StepDetail } from "./StepDetail";
import { isEnforced, isOrdinary, sandboxText, spentText, statusText, verdictText } from "./text";
import type { Waterfall } from "./waterfall";

const LINE_CHARS_MAX = 80;

interface ActionViewProps {
  step: Step;
  run: Run;
  /** The number of the step in its run. */
  number: number;
  isSubRun: boolean;
  waterfall: Waterfall;
  /** The steps of the run that the call started. */
  children?: ReactNode;
}

/** One tool call, which opens to its input and its output. */
export function ActionView({ step, run, number, isSubRun, waterfall, children }: ActionViewProps) {
  const [isOpen, setOpen] = useState(false);
  const { text, tone } = statusText(step);
  const verdict = verdictText(step);
  const command = step.input && commandOf(parseInput(step.input.text));
  const row = waterfall.rows.get(step.operation_id);
  const start = row && labels.waterfall.offset(formatDuration(row.offsetMs));
  return (
    <li className={`step ${tone}`}>
      <span className="step-icon" aria-hidden="true">
        <Icon name={command === undefined ? "tool" : "terminal"} />
      </span>
      <div className="step-text">
        <p className="step-head">
          <b>{command === undefined ? labels.step.tool(visibleText(step.name)) : labels.step.command}</b>
          <Badge tone={tone}>{text}</Badge>
          <span className="step-cost quiet">{[start, spentText(step)].filter(Boolean).join(" · ")}</span>
        </p>
        {row && <StepBar rows={[row]} totalMs={waterfall.totalMs} />}
        {command !== undefined && <code className="step-line">{visibleText(firstLine(command, LINE_CHARS_MAX))}</code>}
        {verdict !== "" && !isOrdinary(step) && <p className="step-why">{verdict}.</p>}
        <WhyVerdict runKey={run.run_key} operationId={step.operation_id} tool={step.name} />
        {step.sandbox && (
          <p className="confined">
            <Icon name="shield" /> {isEnforced(step.sandbox) ? labels.step.sandboxed : `${sandboxText(step.sandbox)}.`}
          </p>
        )}
        <details className="step-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{labels.step.inputAndOutput}</summary>
          {isOpen && <StepDetail step={step} runKey={run.run_key} />}
        </details>
        {!isSubRun && (
          <RunFromHere run={run} stepId={step.operation_id} name={labels.step.numbered(number, step.name)} />
        )}
        {children}
      </div>
    </li>
  );
}
