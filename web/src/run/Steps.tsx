import type { Run, Step } from "../api/types";
import { counted, firstLine } from "../text/number";
import { lasting } from "../text/time";
import { CallBody } from "../transcript/CallView";
import type { Account, Call } from "../transcript/conversation";
import { commandOf, readReceipt } from "../transcript/receipt";
import { Badge } from "../ui/Badge";
import { Glyph } from "../ui/Glyph";
import { Prose } from "../ui/Prose";
import { sandboxWords, statusWords, verdictWords } from "./words";

interface StepsProps {
  run: Run;
  /** What the transcript has of it. */
  account: Account | undefined;
  live: string;
}

const COMMAND_CHARS_MAX = 80;

/** Every step of a run in order: what it was, why it was allowed, how it was confined, what it took. */
export function Steps({ run, account, live }: StepsProps) {
  // Only requests that were answered left a reply.
  const answered = run.steps.filter((step) => step.kind === "model" && step.status === "ok");
  const tools = run.steps.filter((step) => step.kind === "tool");
  return (
    <section className="panel" aria-labelledby="steps-title">
      <h2 id="steps-title">What it did, step by step</h2>
      {run.steps.length === 0 && <p className="quiet">Nothing yet.</p>}
      <ol className="steps">
        {run.steps.map((step) => (
          <StepView
            key={step.operation_id}
            step={step}
            reply={quoted(account?.replies[answered.indexOf(step)], run.final_text)}
            call={account?.calls[tools.indexOf(step)]}
          />
        ))}
      </ol>
      {live !== "" && (
        <div className="live step-live">
          <Prose text={live} />
        </div>
      )}
    </section>
  );
}

function StepView({ step, reply, call }: { step: Step; reply?: string; call?: Call }) {
  const { words, tone } = statusWords(step.status);
  const verdict = verdictWords(step);
  const command = call && commandOf(call.input);
  const receipt = call?.result && readReceipt(call.result.content, call.result.isError);
  return (
    <li className={`step ${tone}`}>
      <span className="step-mark" aria-hidden="true">
        <Glyph name={step.kind === "model" ? "spark" : "terminal"} />
      </span>
      <div className="step-words">
        <p className="step-head">
          <b>{step.kind === "model" ? "Asked the model" : command === undefined ? `Used ${step.name}` : "Ran a command"}</b>
          {step.kind === "model" && <span className="quiet">{step.name}</span>}
          <Badge tone={tone}>{words}</Badge>
          <span className="step-cost quiet">{spent(step)}</span>
        </p>
        {reply && <p className="step-reply">{reply}</p>}
        {command !== undefined && <code className="step-line">{firstLine(command, COMMAND_CHARS_MAX)}</code>}
        {verdict !== "" && <p className="step-why">{verdict}.</p>}
        {step.sandbox && (
          <p className="confined">
            <Glyph name="shield" /> {sandboxWords(step.sandbox)}.
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
    step.duration_ms === undefined ? "" : lasting(step.duration_ms),
    step.token_usage.total_tokens === 0 ? "" : counted(step.token_usage.total_tokens, "token"),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
