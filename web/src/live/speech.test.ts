import { expect, it } from "vitest";
import { sampleDelta, sampleEvent } from "../api/samples";
import { endsSpeech, forget, hear, settle, SILENCE, spoken } from "./speech";

const heard = (...deltas: Parameters<typeof sampleDelta>[]) =>
  deltas.reduce((speech, delta) => hear(speech, sampleDelta(...delta)), SILENCE);

it("puts pieces together in their order, whatever order they come in", () => {
  expect(spoken(heard([0, 1, "world"], [0, 0, "hello "]), "r")).toBe("hello world");
});

it("takes a piece that comes twice only once", () => {
  expect(spoken(heard([0, 0, "a"], [0, 0, "a"], [0, 1, "b"]), "r")).toBe("ab");
});

it("begins again with a greater attempt and ignores what is left of a smaller one", () => {
  expect(spoken(heard([0, 0, "wrong"], [1, 0, "right"], [0, 1, " tail"]), "r")).toBe("right");
});

it("shows that it came late or missed something", () => {
  expect(spoken(heard([0, 3, "the end"]), "r")).toBe("… the end");
});

it("keeps the words of a committed round until they are forgotten, and takes no more of them", () => {
  const settled = settle(heard([0, 0, "done"]), "r");
  expect(spoken(settled, "r")).toBe("done");
  const forgotten = forget(settled);
  expect(spoken(hear(forgotten, sampleDelta(0, 1, " late")), "r")).toBe("");
  expect(spoken(hear(forgotten, sampleDelta(1, 0, "next")), "r")).toBe("next");
});

it("does not forget a new attempt together with the old one", () => {
  const next = hear(settle(heard([0, 0, "old"]), "r"), sampleDelta(1, 0, "new"));
  expect(spoken(forget(next), "r")).toBe("new");
});

it("knows which events end a speech", () => {
  const ends = (kind: string) => endsSpeech(sampleEvent(1, { kind, run_key: "r" }));
  expect([ends("assistant_round_recorded"), ends("run_ended"), ends("tool_executed")]).toEqual([true, true, false]);
});

it("is silent where nothing was said", () => {
  expect([spoken(SILENCE, "r"), spoken(SILENCE, undefined)]).toEqual(["", ""]);
});
