import type { Run, Step } from "../api/types";
import { firstLine, pluralize } from "../text/number";
import { formatDuration } from "../text/time";
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
  /** What the transcript has of it. */
  content: RunContent | undefined;
  live: string;
}

const COMMAND_CHARS_MAX = 80;

/** Every step of a run in order: what it was, why it was allowed, how it was confined, what it took. */
export function Steps({ run, content, live }: StepsProps) {
  // Only requests that were answered left a reply.
  const answered = run.steps.filter((step) => step.kind === "model" && step.status === "ok");
  const tools = run.steps.filter((step) => step.kind === "tool");
  const replyTo = (tries: readonly ModelAttempt[]) => content?.replies[answered.indexOf(tries.at(-1)?.step as Step)];
  return (
    <section className="panel" aria-labelledby="steps-title">
      <h2 id="steps-title">What it did, step by step</h2>
      {run.steps.length === 0 && <p className="quiet">Nothing yet.</p>}
      <ol className="steps">
        {itemsOf(run).map((item) =>
          item.kind === "action" ? (
            <ActionView key={item.id} step={item.step} call={content?.calls[tools.indexOf(item.step)]} />
          ) : (
            <RoundView key={item.id} tries={item.attempts} reply={quoted(replyTo(item.attempts), run.final_text)} />
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

/** One model round: how it ended is how its last attempt did; a fallback is seen without opening anything. */
function RoundView({ tries, reply }: { tries: readonly ModelAttempt[]; reply: string }) {
  const { step } = tries.at(-1) as ModelAttempt;
  const { text, tone } = statusText(step.status);
  const only = tries.length === 1 ? tries[0]?.attempt : undefined;
  const isPlain = only?.outcome === "succeeded";
  // What was wrong with an attempt stands beside it, where anything was kept of it.
  const verdict = isPlain ? gateText(only) : tries.at(-1)?.attempt ? "" : verdictText(step);
  const fellBackTo = tries.findLast((one) => one.fallbackTo)?.fallbackTo;
  const cost = roundCost(tries);
  return (
    <li className={`step ${tone}`}>
      <span className="step-icon" aria-hidden="true">
        <Icon name="spark" />
      </span>
      <div className="step-text">
        <p className="step-head">
          <b>Asked the model</b>
          <span className="quiet">{step.name}</span>
          <Badge tone={tone}>{text}</Badge>
          {fellBackTo && <Badge tone="warn">fell back to {fellBackTo}</Badge>}
          {tries.length > 1 && <span className="quiet">{pluralize(tries.length, "attempt")}</span>}
          <span className="step-cost quiet">{[spent(step), cost].filter(Boolean).join(" · ")}</span>
        </p>
        {reply && <p className="step-reply">{reply}</p>}
        {verdict !== "" && <p className="step-why">{verdict}.</p>}
        {isPlain ? (
          <p className="attempt-usage">
            {[`by ${only.provider}`, tokenText(only.token_usage)].filter(Boolean).join(" · ")}
          </p>
        ) : (
          <Attempts tries={tries} />
        )}
      </div>
    </li>
  );
}

/** One tool call. */
function ActionView({ step, call }: { step: Step; call?: Call }) {
  const { text, tone } = statusText(step.status);
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
          <b>{command === undefined ? `Used ${step.name}` : "Ran a command"}</b>
          <Badge tone={tone}>{text}</Badge>
          <span className="step-cost quiet">{spent(step)}</span>
        </p>
        {command !== undefined && <code className="step-line">{firstLine(command, COMMAND_CHARS_MAX)}</code>}
        {verdict !== "" && <p className="step-why">{verdict}.</p>}
        {step.sandbox && (
          <p className="confined">
            <Icon name="shield" /> {sandboxText(step.sandbox)}.
          </p>
        )}
        {call && (
          <details className="step-details">
            <summary>Command and output</summary>
            <CallBody command={command} input={call.input} receipt={receipt && { ...receipt, sandbox: undefined }} />
          </details>
        )}
      </div>
    </li>
  );
}

/** A reply as a quotation. The last one stands above already, set as text. */
function quoted(reply: string | undefined, finalText: string): string {
  if (!reply) return "";
  return reply.trim() === finalText.trim() ? "It gave the answer that stands above." : `“${reply}”`;
}

function spent(step: Step): string {
  const parts = [
    step.duration_ms === undefined ? "" : formatDuration(step.duration_ms),
    step.token_usage.total_tokens === 0 ? "" : pluralize(step.token_usage.total_tokens, "token"),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
