import { type ReactNode, useMemo } from "react";
import type { AgentStatus, QueuedMessage, TranscriptLine } from "../api/types";
import { labels } from "../labels";
import { ClearQueue } from "../message/ClearQueue";
import { OutgoingView } from "../message/OutgoingView";
import { QueuedView } from "../message/QueuedView";
import type { OutboxHandle } from "../message/useOutbox";
import { Icon } from "../ui/Icon";
import { ModelText } from "../ui/ModelText";
import type { CallState } from "./CallView";
import { PartView } from "./PartView";
import { type Part, toConversation } from "./parts";
import { useStickToEnd } from "./useStickToEnd";

interface ConversationProps {
  agent: AgentStatus;
  lines: readonly TranscriptLine[];
  onOlder?: () => void;
  /** The live text of the model. */
  live: string;
  /** Whether the open run of the agent belongs to this conversation. */
  isOpenHere: boolean;
  /** The queued messages of this conversation. */
  queue: readonly QueuedMessage[];
  /** The number of queued messages that do not belong to this conversation. */
  queuedElsewhere?: number;
  outbox: OutboxHandle;
  /** The number of decisions that are shown at the end. */
  asked?: number;
  /** What follows the conversation: decisions of the run. */
  children?: ReactNode;
}

/** Messages, replies and tool calls, oldest first; live text and queued messages last. */
export function Conversation(props: ConversationProps) {
  const {
    agent,
    lines,
    onOlder,
    live,
    isOpenHere,
    queue: queued,
    queuedElsewhere = 0,
    outbox,
    asked = 0,
    children,
  } = props;
  const parts = useMemo(() => toConversation(lines), [lines]);
  // The transcript may be newer than the queue: a run that has started is not queued.
  const queue = useMemo(
    () => queued.filter((one) => !parts.some((part) => part.runKey === one.run_key)),
    [queued, parts],
  );
  const end = useStickToEnd({
    // A message that could not be sent has a reason and buttons below it.
    grown: [parts.length, live.length, queue.length, ...outbox.messages.map(({ state }) => state), asked].join(" "),
    sent: outbox.messages.at(-1)?.key,
  });
  const isEmpty = parts.length === 0 && queue.length === 0 && outbox.messages.length === 0;
  return (
    <div className="conversation-body">
      {isEmpty && (
        <div className="empty">
          <Icon name="moon" />
          <p className="empty-title">{labels.transcript.empty(agent.agent_id)}</p>
          <p>{labels.transcript.emptyHint}</p>
        </div>
      )}
      {onOlder && (
        <button type="button" className="button small" onClick={onOlder}>
          {labels.common.showOlder}
        </button>
      )}
      <ol className="turns">
        {parts.map((part, index) => (
          <PartView
            key={part.id}
            part={part}
            agentId={agent.agent_id}
            isFirst={isFirstOfRun(parts, index)}
            state={stateOf(agent, part.runKey)}
          />
        ))}
        {live !== "" && (
          <li className="turn agent live">
            <ModelText text={live} />
          </li>
        )}
        {live === "" && isOpenHere && agent.activity === "working" && (
          <li className="turn agent working">
            <span className="pulse" aria-hidden="true" />
            <span role="status">{labels.transcript.working(agent.agent_id)}</span>
          </li>
        )}
        {queue.map((one) => (
          <QueuedView key={one.run_key} agentId={agent.agent_id} message={one} />
        ))}
        {queue.length + queuedElsewhere > 1 && (
          <ClearQueue agentId={agent.agent_id} elsewhere={queuedElsewhere} count={queue.length + queuedElsewhere} />
        )}
        {outbox.messages.map((message) => (
          <OutgoingView key={message.key} message={message} outbox={outbox} />
        ))}
      </ol>
      {outbox.redacted > 0 && (
        <p className="quiet" role="status">
          {labels.message.redacted(outbox.redacted)}
        </p>
      )}
      {children}
      <div ref={end} className="conversation-end" />
    </div>
  );
}

/** Whether the run of a part has ended, waits for a person, or works. */
function stateOf(agent: AgentStatus, runKey: string): CallState {
  if (runKey !== agent.open_run) return "ended";
  return agent.activity === "waiting_on_human" ? "waiting" : "working";
}

function isFirstOfRun(parts: readonly Part[], index: number): boolean {
  return parts[index - 1]?.runKey !== parts[index]?.runKey;
}
