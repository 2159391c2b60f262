// The events of all agents, as far back as the briefing shows them.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { EVENTS_PER_PAGE, getFeed } from "../api/calls";
import { Failure } from "../api/failure";
import { ATTENTION_KEYS, keys } from "../api/keys";
import type { Event } from "../api/types";
import type { LiveText } from "../live/deltas";
import { merge, runKeysOf } from "../live/log";
import { useStream } from "../live/useStream";
import { storedLastSeen } from "./lastSeen";

/** After a long absence the briefing shows the newest events only; each agent's timeline has the rest. */
const CATCH_UP_PAGES_MAX = 5;

export interface Feed {
  events: readonly Event[];
  /** Where the stream continues. */
  cursor: string;
}

export const feedQuery = queryOptions({ queryKey: keys.feed(), queryFn: fetchFeed, staleTime: Infinity });

async function fetchFeed(): Promise<Feed> {
  const newest = await getFeed();
  const lastSeen = storedLastSeen();
  const isFullPage = newest.events.length >= EVENTS_PER_PAGE;
  const missed = lastSeen && isFullPage ? await eventsAfter(lastSeen.cursor) : [];
  return { events: merge(missed, newest.events), cursor: newest.cursor };
}

async function eventsAfter(cursor: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  let from = cursor;
  try {
    for (let page = 0; page < CATCH_UP_PAGES_MAX; page += 1) {
      const feed = await getFeed(from);
      events.push(...feed.events);
      from = feed.cursor;
      if (!feed.has_more) break;
    }
  } catch (thrown) {
    // The server does not know a cursor of another home; the newest events are all there is to show.
    if (!(thrown instanceof Failure && thrown.status === 400)) throw thrown;
  }
  return events;
}

/** The feed, kept up to date by its stream, and the live text of each run. */
export function useFeed() {
  const client = useQueryClient();
  const feed = useQuery(feedQuery);
  const liveTexts: LiveText = useStream("feed", {
    address: (position) => `/api/events?cursor=${encodeURIComponent(position)}`,
    position: feed.data?.cursor,
    onEvents: (events, cursor) =>
      client.setQueryData(feedQuery.queryKey, (before) => before && { events: merge(before.events, events), cursor }),
    stale: (events) => [
      ...runKeysOf(events).map(keys.run),
      keys.agents(),
      keys.budget(),
      keys.runtime(),
      keys.anyRunList(),
      keys.schedules(),
      ...ATTENTION_KEYS,
    ],
  });
  return { feed, liveTexts };
}
