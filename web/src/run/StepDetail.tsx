import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { stepQuery } from "../api/queries";
import type { Run, Step, StepText } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";
import { commandOf } from "../transcript/receipt";
import { ErrorNotice } from "../ui/ErrorNotice";
import { roundCost, tokenText } from "./round";
import { verdictText } from "./text";
import type { Row } from "./waterfall";

/** The input and output of one step beside each other, how it ended, and what it used. */
export function StepDetail({ row, run }: { row: Row; run: Run }) {
  const [isWhole, setWhole] = useState(false);
  const whole = useQuery({ ...stepQuery(row.runKey, row.step.operation_id), enabled: isWhole });
  const step = whole.data ?? row.step;
  const isCut = [step.input, step.output, step.error_output].some((text) => text?.truncated);
  const verdict = verdictText(step);
  const facts = [usageOf(row, run), exitText(step), verdict === "" ? "" : `${verdict}.`].filter((one) => one !== "");
  const message = row.depth === 0 && row.round === 1 ? run.cause?.text : undefined;
  return (
    <div className="step-detail" role="group" aria-label={labels.waterfall.detail(step.name)}>
      <div className="sides">
        <div>
          <h3>{labels.waterfall.input}</h3>
          {step.kind === "model" ? (
            <Text text={message && { text: message, bytes: message.length }} none={labels.waterfall.modelInput} />
          ) : (
            <Text
              text={step.input && { ...step.input, text: inputText(step.input.text) }}
              none={labels.waterfall.noInput}
            />
          )}
        </div>
        <div>
          <h3>{labels.waterfall.output}</h3>
          <Text text={step.output} none={labels.waterfall.noOutput} />
          {step.error_output && step.error_output.text !== "" && (
            <>
              <h3>{labels.transcript.errorOutput}</h3>
              <Text text={step.error_output} none="" />
            </>
          )}
        </div>
      </div>
      {facts.length > 0 && <p className="quiet">{facts.join(" · ")}</p>}
      {whole.error && <ErrorNotice action={labels.waterfall.wholeAction} error={whole.error} />}
      {isCut && (
        <button type="button" className="button" onClick={() => setWhole(true)} disabled={whole.isFetching}>
          {whole.isFetching ? labels.common.fetching : labels.waterfall.whole}
        </button>
      )}
    </div>
  );
}

function Text({ text, none }: { text: StepText | undefined | ""; none: string }) {
  if (!text || text.text === "") return <p className="quiet">{none}</p>;
  return (
    <>
      <pre className="code" tabIndex={0}>
        {text.text}
      </pre>
      {text.truncated && <small className="quiet">{labels.waterfall.cut(formatBytes(text.bytes))}</small>}
    </>
  );
}

/** Arguments as a person reads them: a command as it was typed, everything else as indented JSON. */
export function inputText(text: string): string {
  try {
    const input: unknown = JSON.parse(text);
    const keys = typeof input === "object" && input !== null ? Object.keys(input) : [];
    const command = commandOf(input);
    return command !== undefined && keys.length === 1 ? command : JSON.stringify(input, null, 2);
  } catch {
    return text;
  }
}

/** How a command ended; empty where it has no exit status. */
function exitText({ exit_status: status }: Step): string {
  return status === undefined ? "" : labels.transcript.ends.status(status);
}

/** Tokens and cost of a model request. */
function usageOf({ step }: Row, run: Run): string {
  if (step.kind !== "model") return "";
  const attempt = run.provider_attempt_timeline?.attempts.find((one) => one.operation_id === step.operation_id);
  const parts = [tokenText(attempt?.token_usage ?? step.token_usage), roundCost([{ step, attempt }]) ?? ""];
  return parts.filter((part) => part !== "").join(" · ");
}
