import { expect, it } from "vitest";
import { sampleDelta, sampleEvent } from "../api/samples";
import type { EventKind, EventPayload } from "../api/types";
import { addDelta, applyEvent, liveText, markComplete, NO_LIVE_TEXT, removeComplete } from "./deltas";

const received = (...deltas: Parameters<typeof sampleDelta>[]) =>
  deltas.reduce((texts, delta) => addDelta(texts, sampleDelta(...delta)), NO_LIVE_TEXT);

it("assembles chunks in any order", () => {
  expect(liveText(received([0, 1, "world"], [0, 0, "hello "]), "r")).toBe("hello world");
});

it("adds a duplicate chunk once", () => {
  expect(liveText(received([0, 0, "a"], [0, 0, "a"], [0, 1, "b"]), "r")).toBe("ab");
});

it("starts over with a higher attempt and ignores a lower one", () => {
  expect(liveText(received([0, 0, "wrong"], [1, 0, "right"], [0, 1, " tail"]), "r")).toBe("right");
});

it("marks missing chunks with an ellipsis", () => {
  expect(liveText(received([0, 3, "the end"]), "r")).toBe("… the end");
});

it("keeps the text of a committed round until it is removed", () => {
  const settled = markComplete(received([0, 0, "done"]), "r");
  expect(liveText(settled, "r")).toBe("done");
  const forgotten = removeComplete(settled);
  expect(liveText(addDelta(forgotten, sampleDelta(0, 1, " late")), "r")).toBe("");
  expect(liveText(addDelta(forgotten, sampleDelta(1, 0, "next")), "r")).toBe("next");
});

it("keeps a new attempt when the old one is removed", () => {
  const next = addDelta(markComplete(received([0, 0, "old"]), "r"), sampleDelta(1, 0, "new"));
  expect(liveText(removeComplete(next), "r")).toBe("new");
});

it("keeps text committed after the transcript request", () => {
  const earlier = received([0, 0, "done"]);
  expect(liveText(removeComplete(markComplete(earlier, "r"), earlier), "r")).toBe("done");
});

it("knows which events complete a text", () => {
  const takesMore = (kind: EventKind) => {
    const after = applyEvent(received([0, 0, "a"]), sampleEvent(1, { kind, run_key: "r" }));
    return liveText(addDelta(after, sampleDelta(0, 1, "b")), "r") === "ab";
  };
  expect([takesMore("assistant_round_recorded"), takesMore("run_ended"), takesMore("tool_executed")]).toEqual([
    false,
    false,
    true,
  ]);
});

const attemptEnded = (outcome: EventPayload<"provider_round_completed">["outcome"]) =>
  sampleEvent(1, { kind: "provider_round_completed", run_key: "r", payload: { outcome } });

it("drops the text of a failed attempt", () => {
  const failed = applyEvent(received([0, 0, "half a "], [0, 1, "sentence"]), attemptEnded("retrying"));
  expect(liveText(failed, "r")).toBe("");
  expect(liveText(addDelta(failed, sampleDelta(1, 0, "whole")), "r")).toBe("whole");
});

it("drops text after every failure and keeps it after success", () => {
  const text = received([3, 0, "words"]);
  expect(liveText(applyEvent(text, attemptEnded("retries_exhausted")), "r")).toBe("");
  expect(liveText(applyEvent(text, attemptEnded("fail_fast_aborted")), "r")).toBe("");
  expect(liveText(applyEvent(text, attemptEnded("succeeded")), "r")).toBe("words");
});

it("a late failure event does not end the next attempt", () => {
  const next = applyEvent(received([0, 0, "wrong"], [1, 0, "right, "]), attemptEnded("retrying"));
  expect(liveText(addDelta(next, sampleDelta(1, 1, "and on")), "r")).toBe("… and on");
});

it("keeps the text of other runs", () => {
  const both = addDelta(received([0, 0, "mine"]), { ...sampleDelta(0, 0, "theirs"), run_key: "other" });
  const failed = applyEvent(both, attemptEnded("retrying"));
  expect([liveText(failed, "r"), liveText(failed, "other")]).toEqual(["", "theirs"]);
});

it("starts over when an interrupted attempt runs again under its number", () => {
  const interrupted: Parameters<typeof sampleDelta>[] = [
    [0, 0, "I go "],
    [0, 1, "left "],
    [0, 2, "and on"],
  ];
  expect(liveText(received(...interrupted, [0, 0, "I stay "], [0, 1, "here"]), "r")).toBe("I stay here");
});

it("has no text without deltas", () => {
  expect([liveText(NO_LIVE_TEXT, "r"), liveText(NO_LIVE_TEXT, undefined)]).toEqual(["", ""]);
});
