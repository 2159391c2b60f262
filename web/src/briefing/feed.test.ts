import { QueryClient } from "@tanstack/react-query";
import { beforeEach, expect, it, vi } from "vitest";
import { EVENTS_PER_PAGE } from "../api/calls";
import { sampleEvent } from "../api/samples";
import type { Event } from "../api/types";
import { feedQuery } from "./feed";
import { markSeen, storeLastSeen } from "./lastSeen";

const page = (from: number, count: number) => Array.from({ length: count }, (_, index) => sampleEvent(from + index));
const answer = (events: Event[], cursor: string, has_more = false) => Response.json({ events, cursor, has_more });

/** Responds by cursor; the empty cursor has the newest events. */
function serve(answers: Record<string, () => Response>) {
  vi.stubGlobal("fetch", async (request: Request) =>
    answers[new URL(request.url).searchParams.get("cursor") ?? ""]?.(),
  );
}

async function seqs(): Promise<[number | undefined, number]> {
  const { events } = await new QueryClient({ defaultOptions: { queries: { retry: false } } }).fetchQuery(feedQuery);
  return [events[0]?.seq, events.length];
}

beforeEach(() => localStorage.clear());

it("loads one page when it reaches back to the mark", async () => {
  storeLastSeen(markSeen(undefined, [], "old", new Date()));
  serve({ "": () => answer(page(1, 5), "end") });
  expect(await seqs()).toEqual([1, 5]);
});

it("loads further pages after the mark without duplicates", async () => {
  storeLastSeen(markSeen(undefined, [], "old", new Date()));
  serve({
    "": () => answer(page(301, EVENTS_PER_PAGE), "end"),
    old: () => answer(page(101, EVENTS_PER_PAGE), "on", true),
    on: () => answer(page(301, EVENTS_PER_PAGE), "end"),
  });
  expect(await seqs()).toEqual([101, 400]);
});

it("loads the newest events when the server rejects the cursor", async () => {
  storeLastSeen(markSeen(undefined, [], "foreign", new Date()));
  const error = { code: "cursor_invalid", message: "", hint: "" };
  serve({
    "": () => answer(page(1, EVENTS_PER_PAGE), "end"),
    foreign: () => Response.json({ error }, { status: 400 }),
  });
  expect(await seqs()).toEqual([1, EVENTS_PER_PAGE]);
});
