import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { sendMessage } from "../api/calls";
import { asFailure } from "../api/failure";
import { keys } from "../api/keys";
import type { QueuedMessage, TranscriptLine } from "../api/types";
import {
  accept,
  discard,
  dropShown,
  fail,
  type Outbox,
  type Outgoing,
  retry,
  storedOutbox,
  storeOutbox,
  write,
} from "./outbox";

export interface OutboxHandle {
  messages: Outbox;
  send: (text: string) => void;
  retry: (message: Outgoing) => void;
  discard: (key: string) => void;
}

/** The outgoing messages of one agent: shown at once, and dropped when the server lists them. */
export function useOutbox(
  agentId: string,
  queue: readonly QueuedMessage[],
  lines: readonly TranscriptLine[],
): OutboxHandle {
  const [outbox, setOutbox] = useState(() => storedOutbox(agentId));
  const client = useQueryClient();
  const shown = useMemo(
    () => new Set([...queue.map((one) => one.run_key), ...lines.map((line) => line.run_key)]),
    [queue, lines],
  );
  useEffect(() => setOutbox((before) => dropShown(before, shown)), [shown]);
  useEffect(() => storeOutbox(agentId, outbox), [agentId, outbox]);

  const post = async (text: string, key: string) => {
    try {
      const { run_key: runKey } = await sendMessage(agentId, text, key);
      setOutbox((before) => accept(before, key, runKey));
      await client.invalidateQueries({ queryKey: keys.agent(agentId) });
    } catch (thrown) {
      setOutbox((before) => fail(before, key, asFailure(thrown)));
    }
  };
  return {
    messages: outbox,
    send: (text) => {
      const key = crypto.randomUUID();
      setOutbox((before) => write(before, text, key, new Date()));
      void post(text, key);
    },
    retry: ({ key, text }) => {
      setOutbox((before) => retry(before, key));
      void post(text, key);
    },
    discard: (key) => setOutbox((before) => discard(before, key)),
  };
}
