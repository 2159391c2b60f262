import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { stepQuery } from "../api/queries";
import type { Step, StepText } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";
import { outputText } from "../text/visible";
import { commandOf } from "../transcript/receipt";
import { CodeBlock } from "../ui/CodeBlock";
import { ErrorNotice } from "../ui/ErrorNotice";
import { SandboxDetail } from "./SandboxDetail";
import { isEnforced, isOrdinary, sandboxText, verdictText } from "./text";

/** The input and output of one action beside each other. */
export function StepDetail({ step: shown, runKey }: { step: Step; runKey: string }) {
  const [isWhole, setWhole] = useState(false);
  const whole = useQuery({ ...stepQuery(runKey, shown.operation_id), enabled: isWhole });
  const step = whole.data ?? shown;
  const isCut = [step.input, step.output, step.error_output].some((text) => text?.truncated);
  return (
    <div className="step-detail" role="group" aria-label={labels.waterfall.detail(step.name)}>
      <div className="sides">
        <div>
          <h3>{labels.waterfall.input}</h3>
          <Input text={step.input} />
        </div>
        <div>
          <h3>{labels.waterfall.output}</h3>
          <Output text={step.output} none={labels.waterfall.noOutput} />
          {step.error_output && step.error_output.text !== "" && (
            <>
              <h3>{labels.transcript.errorOutput}</h3>
              <Output text={step.error_output} none="" />
            </>
          )}
        </div>
      </div>
      {isOrdinary(step) && <p className="quiet">{verdictText(step)}.</p>}
      {step.sandbox && isEnforced(step.sandbox) && <p className="quiet">{sandboxText(step.sandbox)}.</p>}
      <SandboxDetail step={step} />
      {whole.error && <ErrorNotice action={labels.waterfall.wholeAction} error={whole.error} />}
      {isCut && (
        <button type="button" className="button" onClick={() => setWhole(true)} disabled={whole.isFetching}>
          {whole.isFetching ? labels.common.fetching : labels.waterfall.whole}
        </button>
      )}
    </div>
  );
}

function Input({ text }: { text: StepText | undefined }) {
  if (!text || text.text === "") return <p className="quiet">{labels.waterfall.noInput}</p>;
  const command = commandOf(parseInput(text.text));
  return (
    <>
      <CodeBlock text={inputText(text.text)} language={command === undefined ? "json" : "sh"} />
      <Cut text={text} />
    </>
  );
}

function Output({ text, none }: { text: StepText | undefined; none: string }) {
  if (!text || text.text === "") return <p className="quiet">{none}</p>;
  return (
    <>
      <CodeBlock text={outputText(text.text)} language="" />
      <Cut text={text} />
    </>
  );
}

function Cut({ text }: { text: StepText }) {
  return text.truncated && <small className="quiet">{labels.waterfall.cut(formatBytes(text.bytes))}</small>;
}

/** Arguments as a value; undefined when they are cut and therefore not JSON. */
export function parseInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Arguments as a person reads them: a command as it was typed, everything else as indented JSON. */
export function inputText(text: string): string {
  const input = parseInput(text);
  if (input === undefined) return text;
  const keys = typeof input === "object" && input !== null ? Object.keys(input) : [];
  const command = commandOf(input);
  return command !== undefined && keys.length === 1 ? command : JSON.stringify(input, null, 2);
}
