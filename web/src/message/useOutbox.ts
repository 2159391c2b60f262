import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { sendMessage } from "../api/calls";
import { asFailure } from "../api/failure";
import { keys } from "../api/keys";
import type { QueuedMessage, TranscriptLine } from "../api/types";
import { useConnection } from "../live/connection";
import {
  accept,
  type Draft,
  discard,
  dropShown,
  fail,
  noteRun,
  type Outbox,
  type Outgoing,
  retry,
  runKeyOf,
  storedOutbox,
  storeOutbox,
  write,
} from "./outbox";

export interface OutboxHandle {
  messages: Outbox;
  send: (draft: Draft) => void;
  retry: (message: Outgoing) => void;
  discard: (key: string) => void;
  /** In how many texts of the last message a secret was replaced before it was stored. */
  redacted: number;
}

interface OutboxOptions {
  agentId: string;
  /** The conversation that the messages belong to. */
  thread: string;
  queue: readonly QueuedMessage[];
  lines: readonly TranscriptLine[];
}

/** The outgoing messages of one conversation: shown at once, and dropped when the server lists them. */
export function useOutbox({ agentId, thread, queue, lines }: OutboxOptions): OutboxHandle {
  const place = `${agentId}/${thread}`;
  const [outbox, setOutbox] = useState(() => storedOutbox(place));
  const [redacted, setRedacted] = useState(0);
  const client = useQueryClient();
  const shown = useMemo(
    () => new Set([...queue.map((one) => one.run_key), ...lines.map((line) => line.run_key)]),
    [queue, lines],
  );
  useEffect(() => {
    for (const { key } of storedOutbox(place))
      void runKeyOf(agentId, thread, key).then(
        (runKey) => runKey && setOutbox((before) => noteRun(before, key, runKey)),
      );
  }, [place, agentId, thread]);
  useEffect(() => {
    if (outbox.some((message) => message.runKey)) setOutbox((before) => dropShown(before, shown));
  }, [outbox, shown]);
  useEffect(() => storeOutbox(place, outbox), [place, outbox]);

  const post = async ({ text, attachments, priority }: Draft, key: string) => {
    try {
      const accepted = await sendMessage(agentId, { text, attachments, priority, thread, key });
      const runKey = accepted.run_key;
      setRedacted(accepted.redacted ?? 0);
      setOutbox((before) => accept(before, key, runKey));
      await client.invalidateQueries({ queryKey: keys.agent(agentId) });
    } catch (thrown) {
      setOutbox((before) => fail(before, key, asFailure(thrown)));
    }
  };
  const sendAgain = (message: Outgoing) => {
    setOutbox((before) => retry(before, message.key));
    void post(message, message.key);
  };
  useSendOnConnection(() => {
    for (const message of outbox) if (message.state === "waiting") sendAgain(message);
  });
  return {
    messages: outbox,
    redacted,
    send: (draft) => {
      const key = crypto.randomUUID();
      setOutbox((before) => write(before, draft, key, new Date()));
      void post(draft, key);
    },
    retry: sendAgain,
    discard: (key) => setOutbox((before) => discard(before, key)),
  };
}

/** Calls back when the connection to the daemon is back, and when the browser is online again: its stream may have survived. */
function useSendOnConnection(onBack: () => void): void {
  const isLive = useConnection() === "live";
  const latest = useRef(onBack);
  latest.current = onBack;
  useEffect(() => {
    if (isLive) latest.current();
  }, [isLive]);
  useEffect(() => {
    const send = () => latest.current();
    window.addEventListener("online", send);
    return () => window.removeEventListener("online", send);
  }, []);
}
