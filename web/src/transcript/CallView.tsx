import { sandboxText } from "../run/text";
import { firstLine } from "../text/number";
import { toSentence } from "../text/sentence";
import { formatDuration } from "../text/time";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import type { Call } from "./parts";
import { commandOf, parseToolReceipt, type ToolReceipt } from "./receipt";

const COMMAND_CHARS_MAX = 90;

/** One tool call, closed to a line: what was done and how it ended. Open: the whole command and its output. */
export function CallView({ call, isOpen }: { call: Call; isOpen: boolean }) {
  const command = commandOf(call.input);
  const receipt = call.result && parseToolReceipt(call.result.content, call.result.isError);
  const line = command ?? JSON.stringify(call.input);
  return (
    <details className="call">
      <summary>
        <Icon name="chevron" className="call-chevron" />
        <Icon name={command === undefined ? "tool" : "terminal"} />
        <span className="call-what">{command === undefined ? call.name : "Ran a command"}</span>
        <code className="call-line">{firstLine(line, COMMAND_CHARS_MAX)}</code>
        <CallEnd receipt={receipt} isError={call.result?.isError ?? false} isOpen={isOpen} />
      </summary>
      <CallBody command={command} input={call.input} receipt={receipt} />
    </details>
  );
}

function CallEnd({ receipt, isError, isOpen }: { receipt?: ToolReceipt; isError: boolean; isOpen: boolean }) {
  if (!receipt) return <Badge tone={isOpen ? "busy" : "quiet"}>{isOpen ? "under way" : "no result"}</Badge>;
  const duration = receipt.durationMs === undefined ? "" : ` · ${formatDuration(receipt.durationMs)}`;
  return (
    <Badge tone={isError ? "bad" : receipt.end === "ok" || receipt.end === "done" ? "good" : "warn"}>
      {receipt.end.replaceAll("_", " ")}
      {duration}
    </Badge>
  );
}

/** The whole of a call: the command, what came out, how it was confined. */
export function CallBody({ command, input, receipt }: { command?: string; input: unknown; receipt?: ToolReceipt }) {
  return (
    <div className="call-body">
      <p className="call-label">{command === undefined ? "Arguments" : "Command"}</p>
      <pre className="code" tabIndex={0}>
        {command ?? JSON.stringify(input, null, 2)}
      </pre>
      {receipt && (
        <>
          <p className="call-label">Output</p>
          {receipt.output === "" ? (
            <p className="quiet">It printed nothing.</p>
          ) : (
            <pre className="code" tabIndex={0}>
              {receipt.output}
            </pre>
          )}
          {receipt.errors !== "" && (
            <>
              <p className="call-label">Errors it printed</p>
              <pre className="code" tabIndex={0}>
                {receipt.errors}
              </pre>
            </>
          )}
          {receipt.isTruncated && <p className="quiet">This is a preview; the model read no more than this either.</p>}
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
