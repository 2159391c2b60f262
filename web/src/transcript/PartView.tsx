import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { formatBytes } from "../text/number";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Time } from "../ui/Time";
import { type CallState, CallView } from "./CallView";
import type { Part } from "./parts";
import { RunEnd } from "./RunEnd";

interface PartViewProps {
  part: Part;
  agentId: string;
  isFirst: boolean;
  state: CallState;
}

/** One part of a conversation. */
export function PartView({ part, agentId, isFirst, state }: PartViewProps) {
  const link = isFirst && (
    <p className="turn-run">
      <Time at={part.at} /> · <Link to={runPath(agentId, part.runKey)}>{labels.common.viewRun}</Link>
    </p>
  );
  switch (part.kind) {
    case "message":
      return (
        <li className="turn user">
          <p className="turn-author">{labels.common.you}</p>
          <div className="bubble">
            <ModelText text={part.text} />
          </div>
          <div className="turn-foot">
            {link}
            <CopyButton text={part.text} label={labels.message.copy} />
          </div>
        </li>
      );
    case "reply":
      return (
        <li className="turn agent reply">
          <ModelText text={part.text} />
          <CopyButton text={part.text} label={labels.message.copyReply} />
        </li>
      );
    case "thinking":
      return (
        <li className="turn thinking">
          <Thinking text={part.text} />
        </li>
      );
    case "search":
      return (
        <li className="turn thinking">
          <Search query={part.query} sources={part.sources} />
        </li>
      );
    case "attachment":
      return (
        <li className={part.isFromTool ? "turn tool-call attachment" : "turn user attachment"}>
          <p className="bubble">
            <Icon name="clip" /> <b>{part.name}</b>{" "}
            <span className="quiet">{labels.transcript.attachment(part.mediaType, formatBytes(part.bytes))}</span>
          </p>
          {link}
        </li>
      );
    case "toolCall":
      return (
        <li className="turn tool-call">
          <CallView call={part.call} state={state} />
        </li>
      );
    case "run":
      return (
        <li className="turn agent">
          <RunEnd agentId={agentId} runKey={part.runKey} run={part.run} />
        </li>
      );
    case "erased":
      return (
        <li className="turn agent">
          <p className="quiet">{labels.transcript.erased}</p>
          {link}
        </li>
      );
  }
}

/** What the provider searched for, and the pages that it found. Only addresses of the web become links. */
function Search({ query, sources }: { query: string; sources: readonly string[] }) {
  const pages = sources.filter((source) => /^https?:\/\//.test(source));
  return (
    <>
      {query !== "" && <p className="quiet">{labels.transcript.searched(query)}</p>}
      {pages.length > 0 && (
        <details className="step-details">
          <summary>{labels.transcript.found}</summary>
          <ul>
            {pages.map((page) => (
              <li key={page}>
                <a href={page} target="_blank" rel="noreferrer noopener nofollow">
                  {page}
                </a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** The thinking of a model before its reply, closed until the reader opens it. */
function Thinking({ text }: { text: string }) {
  if (text === "") return <p className="quiet">{labels.transcript.hiddenThinking}</p>;
  return (
    <details className="step-details">
      <summary>{labels.transcript.thinking}</summary>
      <ModelText text={text} />
    </details>
  );
}
