import { expect, it } from "vitest";
import { sampleEvent, sampleRunSummary } from "../api/samples";
import type { EventPayload } from "../api/types";
import { cost, groupByRun, headline, joinEqual, toneOf } from "./runStory";

const usage = (total: number) => ({ input_tokens: total - 10, output_tokens: 10 });
const run = (runKey: string, from: number, outcome: EventPayload<"run_ended">["outcome"] = "completed") => [
  sampleEvent(from, { run_key: runKey, kind: "message_admitted", payload: { text: "Look around" } }),
  sampleEvent(from + 1, { run_key: runKey, kind: "run_started" }),
  sampleEvent(from + 2, { run_key: runKey, kind: "provider_round_completed", payload: { token_usage: usage(90) } }),
  sampleEvent(from + 3, { run_key: runKey, kind: "assistant_round_recorded", payload: { text: "Three files." } }),
  sampleEvent(from + 4, { run_key: runKey, kind: "tool_executed" }),
  sampleEvent(from + 5, {
    run_key: runKey,
    kind: "run_ended",
    payload: { outcome, rounds: 2, token_usage: usage(1_234) },
  }),
];

it("groups events by run, newest first", () => {
  const stories = groupByRun([...run("a", 1), ...run("b", 11)]);
  expect(stories.map(({ runKey, prompt, outcome, quote }) => ({ runKey, prompt, outcome, quote }))).toEqual([
    { runKey: "b", prompt: "Look around", outcome: "completed", quote: "Three files." },
    { runKey: "a", prompt: "Look around", outcome: "completed", quote: "Three files." },
  ]);
});

it("separates agents, and events without a run", () => {
  const events = [
    sampleEvent(1, { run_key: "a" }),
    sampleEvent(1, { run_key: "a", agent_id: "other" }),
    sampleEvent(2),
    sampleEvent(3),
  ];
  expect(groupByRun(events)).toHaveLength(4);
});

it("has a headline for each outcome and for open runs", () => {
  const headlines = (["completed", "failed", "out_of_rounds", "cancelled"] as const).map((outcome) =>
    headline(groupByRun(run("a", 1, outcome))[0]!),
  );
  expect(headlines).toEqual(["completed", "failed at", "ran out of rounds on", "was cancelled during"]);
  expect(headline(groupByRun(run("a", 1).slice(0, 3))[0]!)).toBe("is working on");
  expect(headline(groupByRun(run("a", 1).slice(0, 1))[0]!)).toBe("received");
});

it("quotes the reason of a failure instead of the last reply", () => {
  const failure = sampleEvent(9, { run_key: "a", kind: "runtime_error" });
  expect(groupByRun([...run("a", 1, "failed"), failure])[0]?.quote).toBe("Thing 9.");
});

it("shows the counts of the server", () => {
  const counts = { model_rounds: 2, tool_calls: 3, denied: 1, failed: 1, unknown: 0 };
  expect(cost(sampleRunSummary({ counts, cost_usd: "0.25" }))).toBe(
    "3 actions · 1 denied · 1 failed · 2 model rounds · $0.25",
  );
  expect(cost(sampleRunSummary())).toBe("");
});

it("says what an open run waits for instead of that it works", () => {
  const story = groupByRun(run("a", 1).slice(0, 3))[0]!;
  const waits = (["approval", "budget", "brake", "time"] as const).map((waitingFor) => {
    const waiting = sampleRunSummary({ waiting_for: waitingFor });
    return `${headline(story, waiting)} (${toneOf(story, waiting)})`;
  });
  expect(waits).toEqual([
    "waits for your approval on (warn)",
    "waits for budget for (warn)",
    "is held by a brake on (warn)",
    "waits for its next attempt of (warn)",
  ]);
  expect(toneOf(story)).toBe("busy");
});

it("joins neighbours that failed for the same reason", () => {
  const failed = (runKey: string, from: number, reason: string) => [
    ...run(runKey, from, "failed"),
    sampleEvent(from + 6, {
      run_key: runKey,
      kind: "runtime_error",
      presentation: { ...sampleEvent(1).presentation, summary: reason },
    }),
  ];
  const stories = groupByRun([
    ...failed("a", 1, "no key"),
    ...failed("b", 11, "no key"),
    ...run("c", 21),
    ...failed("d", 31, "no key"),
    ...failed("e", 41, "no key"),
    ...failed("f", 51, "timeout"),
  ]);
  const joined = joinEqual(stories).map(({ story, count }) => `${story.runKey} ${count}`);
  expect(joined).toEqual(["f 1", "e 2", "c 1", "b 2"]);
});

it("handles erased details", () => {
  const erased = run("a", 1).map((event) => ({ ...event, payload: {}, erased: true as const }));
  expect(groupByRun(erased)[0]).toMatchObject({ outcome: "ended", prompt: undefined });
});
