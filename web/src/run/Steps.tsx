import type { Run, Step } from "../api/types";
import { labels } from "../labels";
import { firstLine } from "../text/number";
import { formatDuration } from "../text/time";
import { visibleText } from "../text/visible";
import { CallBody } from "../transcript/CallView";
import type { Call, RunContent } from "../transcript/parts";
import { commandOf, parseToolReceipt } from "../transcript/receipt";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Attempts } from "./Attempts";
import { gateText, itemsOf, type ModelAttempt, roundCost, tokenText } from "./round";
import { sandboxText, statusText, verdictText } from "./text";

interface StepsProps {
  run: Run;
  /** The replies and calls of the run in the transcript. */
  content: RunContent | undefined;
  live: string;
}

const COMMAND_CHARS_MAX = 80;

/** The steps of a run in order: what each did, which rule allowed it, how it was sandboxed, and its usage. */
export function Steps({ run, content, live }: StepsProps) {
  // Only requests that succeeded have a reply.
  const answered = run.steps.filter((step) => step.kind === "model" && step.status === "ok");
  const tools = run.steps.filter((step) => step.kind === "tool");
  const replyTo = (attempts: readonly ModelAttempt[]) =>
    content?.replies[answered.indexOf(attempts.at(-1)?.step as Step)];
  return (
    <section className="panel" aria-labelledby="steps-title">
      <h2 id="steps-title">{labels.step.title}</h2>
      {run.steps.length === 0 && <p className="quiet">{labels.step.none}</p>}
      <ol className="steps">
        {itemsOf(run).map((item) =>
          item.kind === "action" ? (
            <ActionView key={item.id} step={item.step} call={content?.calls[tools.indexOf(item.step)]} />
          ) : (
            <RoundView
              key={item.id}
              attempts={item.attempts}
              reply={replyText(replyTo(item.attempts), run.final_text)}
            />
          ),
        )}
      </ol>
      {live !== "" && (
        <div className="live step-live">
          <ModelText text={live} />
        </div>
      )}
    </section>
  );
}

/** One model round. Its status is that of its last attempt. */
function RoundView({ attempts, reply }: { attempts: readonly ModelAttempt[]; reply: string }) {
  const { step } = attempts.at(-1) as ModelAttempt;
  const { text, tone } = statusText(step);
  const only = attempts.length === 1 ? attempts[0]?.attempt : undefined;
  const isPlain = only?.outcome === "succeeded";
  // The error of a recorded attempt is shown with the attempt.
  const verdict = isPlain ? gateText(only) : attempts.at(-1)?.attempt ? "" : verdictText(step);
  const fallbackTo = attempts.findLast((one) => one.fallbackTo)?.fallbackTo;
  const cost = roundCost(attempts);
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
          <span className="step-cost quiet">{[spent(step), cost].filter(Boolean).join(" · ")}</span>
        </p>
        {reply && (
          <div className="step-reply">
            <ModelText text={reply} />
          </div>
        )}
        {verdict !== "" && <p className="step-why">{verdict}.</p>}
        {isPlain ? (
          <p className="attempt-usage">
            {[labels.attempt.by(only.provider), tokenText(only.token_usage)].filter(Boolean).join(" · ")}
          </p>
        ) : (
          <Attempts attempts={attempts} />
        )}
      </div>
    </li>
  );
}

/** One tool call. */
function ActionView({ step, call }: { step: Step; call?: Call }) {
  const { text, tone } = statusText(step);
  const verdict = verdictText(step);
  const command = call && commandOf(call.input);
  const receipt = call?.result && parseToolReceipt(call.result.content, call.result.isError);
  return (
    <li className={`step ${tone}`}>
      <span className="step-icon" aria-hidden="true">
        <Icon name="terminal" />
      </span>
      <div className="step-text">
        <p className="step-head">
          <b>{command === undefined ? labels.step.tool(step.name) : labels.step.command}</b>
          <Badge tone={tone}>{text}</Badge>
          <span className="step-cost quiet">{spent(step)}</span>
        </p>
        {command !== undefined && (
          <code className="step-line">{visibleText(firstLine(command, COMMAND_CHARS_MAX))}</code>
        )}
        {verdict !== "" && <p className="step-why">{verdict}.</p>}
        {step.sandbox && (
          <p className="confined">
            <Icon name="shield" /> {sandboxText(step.sandbox)}.
          </p>
        )}
        {call && (
          <details className="step-details">
            <summary>{labels.step.commandAndOutput}</summary>
            <CallBody command={command} input={call.input} receipt={receipt && { ...receipt, sandbox: undefined }} />
          </details>
        )}
      </div>
    </li>
  );
}

/** The reply of a round. The last one is the result, which is shown above. */
function replyText(reply: string | undefined, finalText: string): string {
  if (!reply) return "";
  return reply.trim() === finalText.trim() ? labels.step.isResult : reply;
}

function spent(step: Step): string {
  const parts = [
    step.duration_ms === undefined ? "" : formatDuration(step.duration_ms),
    step.token_usage.total_tokens === 0 ? "" : labels.run.tokenCount(step.token_usage.total_tokens),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
