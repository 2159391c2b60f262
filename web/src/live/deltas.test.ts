import { expect, it } from "vitest";
import { sampleDelta, sampleEvent } from "../api/samples";
import type { EventKind, EventPayload } from "../api/types";
import { addDelta, applyEvent, liveText, markComplete, NO_LIVE_TEXT, removeRuns } from "./deltas";

const received = (...deltas: Parameters<typeof sampleDelta>[]) =>
  deltas.reduce((texts, delta) => addDelta(texts, sampleDelta(...delta)), NO_LIVE_TEXT);

it("puts pieces together in their order, whatever order they come in", () => {
  expect(liveText(received([0, 1, "world"], [0, 0, "hello "]), "r")).toBe("hello world");
});

it("takes a piece that comes twice only once", () => {
  expect(liveText(received([0, 0, "a"], [0, 0, "a"], [0, 1, "b"]), "r")).toBe("ab");
});

it("begins again with a greater attempt and ignores what is left of a smaller one", () => {
  expect(liveText(received([0, 0, "wrong"], [1, 0, "right"], [0, 1, " tail"]), "r")).toBe("right");
});

it("shows that it came late or missed something", () => {
  expect(liveText(received([0, 3, "the end"]), "r")).toBe("… the end");
});

it("keeps the words of a committed round until they are forgotten, and takes no more of them", () => {
  const settled = markComplete(received([0, 0, "done"]), "r");
  expect(liveText(settled, "r")).toBe("done");
  const forgotten = removeRuns(settled);
  expect(liveText(addDelta(forgotten, sampleDelta(0, 1, " late")), "r")).toBe("");
  expect(liveText(addDelta(forgotten, sampleDelta(1, 0, "next")), "r")).toBe("next");
});

it("does not forget a new attempt together with the old one", () => {
  const next = addDelta(markComplete(received([0, 0, "old"]), "r"), sampleDelta(1, 0, "new"));
  expect(liveText(removeRuns(next), "r")).toBe("new");
});

it("keeps the words of a round that was committed after the transcript was asked for", () => {
  const earlier = received([0, 0, "done"]);
  expect(liveText(removeRuns(markComplete(earlier, "r"), earlier), "r")).toBe("done");
});

it("knows which events end a speech", () => {
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

it("drops the words of an attempt as soon as it failed, and begins clean with the next", () => {
  const failed = applyEvent(received([0, 0, "half a "], [0, 1, "sentence"]), attemptEnded("retrying"));
  expect(liveText(failed, "r")).toBe("");
  expect(liveText(addDelta(failed, sampleDelta(1, 0, "whole")), "r")).toBe("whole");
});

it("drops them also when another model is asked, and not when the attempt succeeded", () => {
  const text = received([3, 0, "words"]);
  expect(liveText(applyEvent(text, attemptEnded("retries_exhausted")), "r")).toBe("");
  expect(liveText(applyEvent(text, attemptEnded("fail_fast_aborted")), "r")).toBe("");
  expect(liveText(applyEvent(text, attemptEnded("succeeded")), "r")).toBe("words");
});

it("does not silence the next attempt when the failure of the one before is told late", () => {
  const next = applyEvent(received([0, 0, "wrong"], [1, 0, "right, "]), attemptEnded("retrying"));
  expect(liveText(addDelta(next, sampleDelta(1, 1, "and on")), "r")).toBe("… and on");
});

it("leaves the words of other runs alone", () => {
  const both = addDelta(received([0, 0, "mine"]), { ...sampleDelta(0, 0, "theirs"), run_key: "other" });
  const failed = applyEvent(both, attemptEnded("retrying"));
  expect([liveText(failed, "r"), liveText(failed, "other")]).toEqual(["", "theirs"]);
});

it("begins again when an attempt that a crash cut off is made anew under its number", () => {
  const interrupted: Parameters<typeof sampleDelta>[] = [
    [0, 0, "I go "],
    [0, 1, "left "],
    [0, 2, "and on"],
  ];
  expect(liveText(received(...interrupted, [0, 0, "I stay "], [0, 1, "here"]), "r")).toBe("I stay here");
});

it("is silent where nothing was said", () => {
  expect([liveText(NO_LIVE_TEXT, "r"), liveText(NO_LIVE_TEXT, undefined)]).toEqual(["", ""]);
});
