import { useMemo } from "react";
import type { AgentStatus, Queued, TranscriptLine } from "../api/types";
import { ClearQueue } from "../message/ClearQueue";
import { OutgoingView } from "../message/OutgoingView";
import type { OutboxHandle } from "../message/useOutbox";
import { Link, runPath } from "../shell/router";
import { formatBytes } from "../text/number";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import { Time } from "../ui/Time";
import { CallView } from "./CallView";
import { type Part, toConversation } from "./parts";
import { useStickToEnd } from "./useStickToEnd";

interface ConversationProps {
  agent: AgentStatus;
  lines: readonly TranscriptLine[];
  onOlder?: () => void;
  /** What the model is saying right now. */
  live: string;
  queue: readonly Queued[];
  outbox: OutboxHandle;
}

/** What was asked, said and done, oldest first, with what is under way at its end. */
export function Conversation({ agent, lines, onOlder, live, queue: queued, outbox }: ConversationProps) {
  const parts = useMemo(() => toConversation(lines), [lines]);
  // The transcript may be newer than the line: what has begun waits no more.
  const queue = useMemo(
    () => queued.filter((one) => !parts.some((part) => part.runKey === one.run_key)),
    [queued, parts],
  );
  const end = useStickToEnd(`${parts.length} ${live.length} ${queue.length} ${outbox.messages.length}`);
  const isEmpty = parts.length === 0 && queue.length === 0 && outbox.messages.length === 0;
  if (isEmpty) {
    return (
      <div className="empty">
        <Icon name="moon" />
        <p className="empty-title">Nothing was said to {agent.agent_id} yet</p>
        <p>Write to it below. It wakes, works in its folder under the rules, and everything it does will stand here.</p>
      </div>
    );
  }
  return (
    <>
      {onOlder && (
        <button type="button" className="button small" onClick={onOlder}>
          Show older
        </button>
      )}
      <ol className="turns">
        {parts.map((part, index) => (
          <PartView
            key={part.id}
            part={part}
            agentId={agent.agent_id}
            isFirst={isFirstOfRun(parts, index)}
            isOpen={part.runKey === agent.open_run}
          />
        ))}
        {live !== "" && (
          <li className="turn agent live">
            <ModelText text={live} />
          </li>
        )}
        {live === "" && agent.activity === "working" && (
          <li className="turn agent working" role="status">
            <span className="pulse" aria-hidden="true" /> {agent.agent_id} is working…
          </li>
        )}
        {queue.map((one) => (
          <li key={one.run_key} className="turn user waiting">
            <p className="turn-author">You</p>
            <div className="bubble">{one.preview}</div>
            <p className="turn-foot">
              Waits for its turn, since <Time at={one.admitted_at} />
            </p>
          </li>
        ))}
        {queue.length > 0 && <ClearQueue agentId={agent.agent_id} />}
        {outbox.messages.map((message) => (
          <OutgoingView key={message.key} message={message} outbox={outbox} />
        ))}
      </ol>
      <div ref={end} />
    </>
  );
}

interface PartViewProps {
  part: Part;
  agentId: string;
  isFirst: boolean;
  isOpen: boolean;
}

function PartView({ part, agentId, isFirst, isOpen }: PartViewProps) {
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

function isFirstOfRun(parts: readonly Part[], index: number): boolean {
  return parts[index - 1]?.runKey !== parts[index]?.runKey;
}
