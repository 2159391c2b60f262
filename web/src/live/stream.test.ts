import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleEvent } from "../api/samples";
import type { ProbeResult } from "./probe";
import { Stream, type StreamState } from "./stream";

class FakeSource extends EventTarget {
  static all: FakeSource[] = [];
  onopen?: () => void;
  onerror?: () => void;
  isClosed = false;
  constructor(readonly url: string) {
    super();
    FakeSource.all.push(this);
  }
  close() {
    this.isClosed = true;
  }
  say(type: string, data: unknown, lastEventId = "") {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data), lastEventId }));
  }
}

let stream: Stream;
let states: StreamState[];
let seqs: number[];
let probeResults: ProbeResult[];
let tickets: number;

beforeEach(async () => {
  vi.useFakeTimers();
  FakeSource.all = [];
  [states, seqs, probeResults, tickets] = [[], [], [], 0];
  vi.stubGlobal("EventSource", FakeSource);
  stream = new Stream({
    address: (position) => `/events?after_seq=${position}`,
    position: "7",
    probe: async () => probeResults.shift() ?? "ready",
    ticket: async () => `t${++tickets}`,
    onEvent: (event) => seqs.push(event.seq),
    onDelta: () => undefined,
    onState: (state) => states.push(state),
  });
  await vi.advanceTimersByTimeAsync(0);
});

afterEach(() => {
  stream.close();
  vi.useRealTimers();
});

const source = () => FakeSource.all.at(-1) as FakeSource;

it("starts at the given position and is live when open", () => {
  source().onopen?.();
  expect(source().url).toBe("/events?after_seq=7&ticket=t1");
  expect(states).toEqual(["connecting", "live"]);
});

it("continues after the last event when the daemon is back", async () => {
  probeResults = ["unreachable", "recovering", "ready"];
  source().onopen?.();
  source().say("event", sampleEvent(8), "8");
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(5_000);
  source().onopen?.();
  expect(source().url).toBe("/events?after_seq=8&ticket=t2");
  expect(states).toEqual(["connecting", "live", "unreachable", "recovering", "connecting", "live"]);
  expect(FakeSource.all.map((one) => one.isClosed)).toEqual([true, false]);
});

it("shows no error when one connection closes and the daemon is ready", async () => {
  source().onopen?.();
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(300);
  source().onopen?.();
  expect(states).toEqual(["connecting", "live", "connecting", "live"]);
});

it("a ready daemon that keeps closing the stream counts as unreachable", async () => {
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(300);
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(states).toEqual(["connecting", "connecting", "unreachable"]);
});

it("a stable stream resets the count of broken streams", async () => {
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(300);
  source().onopen?.();
  await vi.advanceTimersByTimeAsync(20_000);
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(states.at(-1)).toBe("connecting");
});

it("reopens where the server dropped a slow reader", async () => {
  source().onopen?.();
  source().say("event", sampleEvent(9), "9");
  source().say("dropped", { code: "too_slow", after_seq: 9 }, "9");
  await vi.advanceTimersByTimeAsync(300);
  expect(FakeSource.all.map((one) => one.url)).toEqual([
    "/events?after_seq=7&ticket=t1",
    "/events?after_seq=9&ticket=t2",
  ]);
});

it("applies a position from an event of its own", async () => {
  source().say("cursor", { after_seq: 12 }, "12");
  source().onerror?.();
  await vi.advanceTimersByTimeAsync(300);
  expect(source().url).toBe("/events?after_seq=12&ticket=t2");
});

it("stops retrying when it is closed", async () => {
  source().onerror?.();
  stream.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.all).toHaveLength(1);
});

it("retries when a ticket cannot be created", async () => {
  stream.close();
  FakeSource.all = [];
  const given = [Promise.reject(new Error("no answer")), Promise.resolve("second")];
  stream = new Stream({
    address: () => "/events",
    position: "",
    probe: async () => "ready",
    ticket: () => given.shift() as Promise<string>,
    onEvent: () => undefined,
    onDelta: () => undefined,
    onState: () => undefined,
  });
  await vi.advanceTimersByTimeAsync(300);
  expect(FakeSource.all.map((one) => one.url)).toEqual(["/events?ticket=second"]);
});
