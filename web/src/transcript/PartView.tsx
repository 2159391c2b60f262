import { Link, runPath } from "../shell/router";
import { formatBytes } from "../text/number";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Time } from "../ui/Time";
import { CallView } from "./CallView";
import type { Part } from "./parts";

interface PartViewProps {
  part: Part;
  agentId: string;
  isFirst: boolean;
  isOpen: boolean;
}

export function PartView({ part, agentId, isFirst, isOpen }: PartViewProps) {
  const link = isFirst && (
    <p className="turn-run">
      <Time at={part.at} /> · <Link to={runPath(agentId, part.runKey)}>why and how</Link>
    </p>
  );
  switch (part.kind) {
    case "message":
      return (
        <li className="turn user">
          <p className="turn-author">You</p>
          <div className="bubble">{part.text}</div>
          {link}
        </li>
      );
    case "reply":
      return (
        <li className="turn agent">
          <ModelText text={part.text} />
        </li>
      );
    case "thinking":
      return (
        <li className="turn thinking">
          <Thought text={part.text} />
        </li>
      );
    case "attachment":
      return (
        <li className="turn user attachment">
          <p className="bubble">
            <Icon name="clip" /> <b>{part.name}</b>{" "}
            <span className="quiet">{`${part.mediaType}, ${formatBytes(part.bytes)}`}</span>
          </p>
          {link}
        </li>
      );
    case "toolCall":
      return (
        <li className="turn tool-call">
          <CallView call={part.call} isOpen={isOpen} />
        </li>
      );
    case "erased":
      return (
        <li className="turn agent">
          <p className="quiet">What was said here was erased for good.</p>
          {link}
        </li>
      );
  }
}

/** What the model thought before it spoke. It is no answer, so it stays closed until somebody wants to know. */
function Thought({ text }: { text: string }) {
  if (text === "") return <p className="quiet">It thought first; its provider does not show what.</p>;
  return (
    <details className="step-details">
      <summary>What it thought first</summary>
      <ModelText text={text} />
    </details>
  );
}
