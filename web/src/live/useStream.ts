// Connects a page with its stream: events are handed over in batches, answers that they make stale are fetched again.
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { createStreamTicket } from "../api/calls";
import { isLogKey } from "../api/keys";
import type { Event } from "../api/types";
import { setConnection } from "./connection";
import { addDelta, applyEvent, type LiveText, NO_LIVE_TEXT, removeRuns } from "./deltas";
import { probeStream } from "./probe";
import { refresh } from "./refresh";
import { Stream } from "./stream";

/** Events come in bursts (a transition commits several); one render and one fetch per burst is enough. */
const BATCH_MS = 60;

/** Browsers allow six connections to a server. Tabs in the background give theirs back after a while. */
const HIDDEN_MS_MAX = 60_000;

export interface StreamSubscription {
  address: (position: string) => string;
  /** Where to begin; nothing is followed before it is known. */
  position: string | undefined;
  /** Takes a batch, and the position after it. */
  onEvents: (events: readonly Event[], position: string) => void;
  /** The answers that an event makes stale. */
  stale: (events: readonly Event[]) => readonly QueryKey[];
}

/** Follows a stream while the component is there. Returns what the models are saying. */
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
    // What the page read before it knew where to begin may be older than that, and the stream tells only of what comes after.
    let mayHaveMissed = true;

    // Kept beside the state, which is as new as the last time it was drawn.
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
      update((now) => removeRuns(now, earlier));
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
    };
  }, [client, isInBackground, isReady, name]);

  return texts;
}

/** Whether the page has been in the background for so long that nobody is watching. */
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
