// Connects a page to its event stream: delivers events in batches, and fetches again what they make stale.
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { createStreamTicket } from "../api/calls";
import { isLogKey } from "../api/keys";
import type { Event } from "../api/types";
import { setConnection } from "./connection";
import { addDelta, applyEvent, type LiveText, NO_LIVE_TEXT, removeComplete } from "./deltas";
import { probeStream } from "./probe";
import { refresh } from "./refresh";
import { Stream } from "./stream";

/** Events arrive in bursts, because a transition commits several; a burst needs one render and one fetch. */
const BATCH_MS = 60;

/** Browsers allow six connections to a server, so a tab in the background closes its stream after this time. */
const HIDDEN_MS_MAX = 60_000;

export interface StreamSubscription {
  address: (position: string) => string;
  /** Where to start; the stream opens when it is known. */
  position: string | undefined;
  /** Receives a batch of events and the position after it. */
  onEvents: (events: readonly Event[], position: string) => void;
  /** The keys of the responses that these events make stale. */
  stale: (events: readonly Event[]) => readonly QueryKey[];
}

/** Follows a stream while the component is mounted, and returns the live text of each run. */
export function useStream(name: string, subscription: StreamSubscription): LiveText {
  const [texts, setTexts] = useState(NO_LIVE_TEXT);
  const client = useQueryClient();
  const latestTexts = useRef(NO_LIVE_TEXT);
  const latest = useRef(subscription);
  latest.current = subscription;
  const isReady = subscription.position !== undefined;
  const isInBackground = useIsInBackground();

  // biome-ignore lint/correctness/useExhaustiveDependencies: another name is another stream
  useEffect(() => {
    if (!isReady || isInBackground) return;
    let batch: Event[] = [];
    let reached = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Responses from before the start position may be older than it, and the stream reports only later changes.
    let mayHaveMissed = true;

    // A ref beside the state, because the state is only as new as the last render.
    const update = (change: (before: LiveText) => LiveText) => {
      latestTexts.current = change(latestTexts.current);
      setTexts(latestTexts.current);
    };
    const flush = async () => {
      timer = undefined;
      const earlier = latestTexts.current;
      const events = batch;
      batch = [];
      latest.current.onEvents(events, reached);
      await Promise.all(latest.current.stale(events).map((queryKey) => refresh(client, { queryKey })));
      update((now) => removeComplete(now, earlier));
    };

    const stream = new Stream({
      address: (position) => latest.current.address(position),
      position: latest.current.position as string,
      probe: probeStream,
      ticket: async () => (await createStreamTicket()).ticket,
      onDelta: (delta) => update((before) => addDelta(before, delta)),
      onEvent: (event, position) => {
        update((before) => applyEvent(before, event));
        batch.push(event);
        reached = position;
        timer ??= setTimeout(() => void flush(), BATCH_MS);
      },
      onState: (state) => {
        setConnection(state);
        if (state === "live" && mayHaveMissed)
          void refresh(client, { predicate: ({ queryKey }) => !isLogKey(queryKey) });
        mayHaveMissed = state === "live" ? false : mayHaveMissed || state !== "connecting";
      },
    });
    return () => {
      clearTimeout(timer);
      stream.close();
      // The next page learns of a lost connection from its requests until its own stream is open.
      setConnection("connecting");
    };
  }, [client, isInBackground, isReady, name]);

  return texts;
}

/** Whether the page has been in the background for longer than the limit. */
function useIsInBackground(): boolean {
  const [isInBackground, setInBackground] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const check = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => setInBackground(true), HIDDEN_MS_MAX);
      else setInBackground(false);
    };
    document.addEventListener("visibilitychange", check);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", check);
    };
  }, []);
  return isInBackground;
}
