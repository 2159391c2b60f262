import { labels } from "../labels";
import { sandboxText, type Tone } from "../run/text";
import { firstLine } from "../text/number";
import { toSentence } from "../text/sentence";
import { formatDuration } from "../text/time";
import { outputText, visibleText } from "../text/visible";
import { Badge } from "../ui/Badge";
import { CodeBlock } from "../ui/CodeBlock";
import { Icon } from "../ui/Icon";
import type { Call } from "./parts";
import { commandOf, parseToolReceipt, type ToolReceipt } from "./receipt";

const COMMAND_CHARS_MAX = 90;

/** What the run of a call does, which a call without a result follows. */
export type CallState = "ended" | "waiting" | "working";

/** One tool call: a line with the command and its result, which opens to the whole command and its output. */
export function CallView({ call, state }: { call: Call; state: CallState }) {
  const command = commandOf(call.input);
  const receipt = call.result && parseToolReceipt(call.result.content, call.result.isError);
  const line = command ?? JSON.stringify(call.input);
  return (
    <details className="call">
      <summary>
        <Icon name="chevron" className="call-chevron" />
        <Icon name={command === undefined ? "tool" : "terminal"} />
        <span className="call-what">{command === undefined ? call.name : labels.step.command}</span>
        <code className="call-line">{visibleText(firstLine(line, COMMAND_CHARS_MAX))}</code>
        <CallEnd receipt={receipt} isError={call.result?.isError ?? false} state={state} />
      </summary>
      <CallBody command={command} input={call.input} receipt={receipt} />
    </details>
  );
}

const NO_RESULT: Record<CallState, { text: string; tone: Tone }> = {
  ended: { text: labels.transcript.noResult, tone: "quiet" },
  waiting: { text: labels.step.statuses.waiting_for_approval, tone: "warn" },
  working: { text: labels.transcript.inProgress, tone: "busy" },
};

function CallEnd({ receipt, isError, state }: { receipt?: ToolReceipt; isError: boolean; state: CallState }) {
  if (!receipt) return <Badge tone={NO_RESULT[state].tone}>{NO_RESULT[state].text}</Badge>;
  const duration = receipt.durationMs === undefined ? "" : ` · ${formatDuration(receipt.durationMs)}`;
  return (
    <Badge
      tone={
        isError
          ? "bad"
          : receipt.end === labels.transcript.ends.ok || receipt.end === labels.transcript.ends.done
            ? "good"
            : "warn"
      }
    >
      {receipt.end.replaceAll("_", " ")}
      {duration}
    </Badge>
  );
}

/** The command or arguments of a call, its output, and how it was sandboxed. */
export function CallBody({ command, input, receipt }: { command?: string; input: unknown; receipt?: ToolReceipt }) {
  return (
    <div className="call-body">
      <p className="call-label">{command === undefined ? labels.transcript.arguments : labels.transcript.command}</p>
      {command === undefined ? (
        <CodeBlock text={JSON.stringify(input, null, 2)} language="json" />
      ) : (
        <CodeBlock text={command} language="sh" />
      )}
      {receipt && (
        <>
          <p className="call-label">{labels.transcript.output}</p>
          {receipt.output === "" ? (
            <p className="quiet">{labels.transcript.noOutput}</p>
          ) : (
            <CodeBlock text={outputText(receipt.output)} language="" />
          )}
          {receipt.errors !== "" && (
            <>
              <p className="call-label">{labels.transcript.errorOutput}</p>
              <CodeBlock text={outputText(receipt.errors)} language="" />
            </>
          )}
          {receipt.isTruncated && <p className="quiet">{labels.transcript.truncated}</p>}
          {receipt.hint && <p className="quiet">{toSentence(receipt.hint)}</p>}
          {receipt.sandbox && (
            <p className="confined">
              <Icon name="shield" /> {sandboxText(receipt.sandbox)}.
            </p>
          )}
        </>
      )}
    </div>
  );
}
