import { expect, it } from "vitest";
import { sampleAgent, sampleRunSummary } from "../api/samples";
import type { AgentState, Thread } from "../api/types";
import { newThread, openThread, threadOfSearch, threadOptions, threadTitle } from "./thread";

const at = "2026-01-01T00:00:00Z";

it("reads the conversation of the address", () => {
  expect(["", "?thread=plans", "?thread="].map(threadOfSearch)).toEqual(["cli", "plans", "cli"]);
});

it("builds names that the server accepts, each another one", () => {
  expect(newThread()).toMatch(/^chat-[0-9a-f]{12}$/);
  expect(newThread()).not.toBe(newThread());
});

it("names conversations by what a person chose", () => {
  expect(["cli", "plans", "from-0123456789abcdef", "chat-0123456789ab"].map(threadTitle)).toEqual([
    "Main conversation",
    "Conversation plans",
    "Continued from run 01234567",
    "Conversation",
  ]);
});

it("offers the chosen and the main conversation before their first messages", () => {
  const threads: Thread[] = [
    { thread: "plans", last_at: at, preview: "Dig\nhere", open_run: "r" },
    { thread: "empty", last_at: at },
  ];
  expect(threadOptions(threads, "chat-0123456789ab")).toEqual([
    ["chat-0123456789ab", "Conversation (new)"],
    ["cli", "Main conversation"],
    ["plans", "Conversation plans: “Dig here” (in progress)"],
    ["empty", "Conversation empty"],
  ]);
  expect(threadOptions([{ thread: "cli", last_at: at }], "cli")).toEqual([["cli", "Main conversation"]]);
});

it("finds the conversation of the open run", () => {
  const state = (over: Partial<AgentState>): AgentState => ({
    agent: sampleAgent({ open_run: "r" }),
    queue: [],
    runs: [],
    after_seq: 0,
    ...over,
  });
  const run = sampleRunSummary({ run_key: "r" });
  const threads: Thread[] = [{ thread: "plans", last_at: at, open_run: "r" }];
  expect(openThread(state({ runs: [{ ...run, thread: "cli" }] }), threads)).toBe("cli");
  expect(openThread(state({ runs: [run] }), [])).toBeUndefined();
  expect(openThread(state({}), threads)).toBe("plans");
  expect(openThread(state({ agent: sampleAgent() }), threads)).toBeUndefined();
});
