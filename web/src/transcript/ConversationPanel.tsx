import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { moreLines, TRANSCRIPT_LINES, threadsQuery, transcriptQuery } from "../api/queries";
import type { AgentState, Decision } from "../api/types";
import { Decisions } from "../decision/Decisions";
import { labels } from "../labels";
import { type LiveText, liveText } from "../live/deltas";
import { Composer } from "../message/Composer";
import { useOutbox } from "../message/useOutbox";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Conversation } from "./Conversation";
import { OpenElsewhere } from "./OpenElsewhere";
import { ThreadSwitch } from "./ThreadSwitch";
import { openThread } from "./thread";

interface ConversationPanelProps {
  state: AgentState;
  /** The conversation to show. The parent mounts the panel anew for another one. */
  thread: string;
  liveTexts: LiveText;
  decisions: readonly Decision[];
}

/** One conversation of an agent, with the choice of another one and the form for a message. */
export function ConversationPanel({ state, thread, liveTexts, decisions }: ConversationPanelProps) {
  const { agent, queue } = state;
  const agentId = agent.agent_id;
  const [lines, setLines] = useState(TRANSCRIPT_LINES);
  const threads = useQuery(threadsQuery(agentId)).data ?? [];
  const transcript = useQuery(transcriptQuery({ agentId, thread, lines }));
  const more = moreLines(lines);
  const own = queue.filter((one) => one.thread === thread);
  const outbox = useOutbox({ agentId, thread, queue: own, lines: transcript.data?.lines ?? [] });
  const openIn = openThread(state, threads);
  const isOpenHere = agent.open_run !== undefined && openIn === thread;

  return (
    <section className="panel conversation" id="conversation" aria-labelledby="conversation-title">
      <header className="panel-head">
        <h2 id="conversation-title">{labels.transcript.title}</h2>
        <ThreadSwitch agentId={agentId} chosen={thread} threads={threads} />
      </header>
      {transcript.error && !transcript.data && (
        <ErrorNotice
          action={labels.transcript.loadAction}
          error={transcript.error}
          onRetry={() => void transcript.refetch()}
        />
      )}
      {transcript.isPending && <Skeleton lines={5} label={labels.transcript.loading} />}
      {transcript.data && (
        <Conversation
          agent={agent}
          lines={transcript.data.lines}
          onOlder={transcript.data.has_more && more ? () => setLines(more) : undefined}
          live={isOpenHere ? liveText(liveTexts, agent.open_run) : ""}
          isOpenHere={isOpenHere}
          queue={own}
          queuedElsewhere={queue.length - own.length}
          outbox={outbox}
          asked={decisions.length}
        >
          {agent.open_run !== undefined && !isOpenHere && (
            <OpenElsewhere agentId={agentId} runKey={agent.open_run} thread={openIn} />
          )}
          {/* Where the run waits: at the end of the conversation, and not above what the reader looks at. */}
          <Decisions decisions={decisions} />
        </Conversation>
      )}
      <Composer agent={agent} thread={thread} isOpenHere={isOpenHere} onSend={outbox.send} />
    </section>
  );
}
