import { expect, it } from "vitest";
import { sampleAttempt, sampleRun, sampleStep } from "../api/samples";
import { barOf, type Row, waterfallOf } from "./waterfall";

const START = "2026-01-01T00:00:00.000Z";
const after = (ms: number) => new Date(Date.parse(START) + ms).toISOString();
const tool = (id: string, ms: number, durationMs?: number, over = {}) =>
  sampleStep(id, { kind: "tool", name: "ExecCommand", at: after(ms), duration_ms: durationMs, ...over });
const first = (rows: ReadonlyMap<string, Row>) => [...rows.values()][0] as Row;
const shown = (run: Parameters<typeof waterfallOf>[0], children: Parameters<typeof waterfallOf>[1] = [], now = 0) =>
  waterfallOf(run, children, Date.parse(START) + now);

it("places each step by its start and its duration", () => {
  const run = sampleRun({
    started_at: START,
    ended_at: after(1_000),
    duration_ms: 1_000,
    steps: [sampleStep("1", { at: after(0), duration_ms: 400 }), tool("2", 500, 250)],
  });
  const { rows, totalMs } = shown(run);
  expect(totalMs).toBe(1_000);
  expect([...rows.values()].map((row) => [row.offsetMs, row.durationMs])).toEqual([
    [0, 400],
    [500, 250],
  ]);
  expect([...rows.values()].map((row) => barOf(row, totalMs))).toEqual([
    { start: 0, width: 40 },
    { start: 50, width: 25 },
  ]);
});

it("takes the time of a model request from its attempt", () => {
  const attempt = sampleAttempt("1", { started_at: after(30), duration_ms: 70 });
  const timeline = { attempts: [attempt], requested_model_ref: "m" };
  const steps = [sampleStep("1", { at: after(0), duration_ms: 500 })];
  const run = sampleRun({ started_at: START, steps, provider_attempt_timeline: timeline as never });
  expect(first(shown(run).rows)).toMatchObject({ offsetMs: 30, durationMs: 70 });
});

it("lets a step in progress last until now", () => {
  const run = sampleRun({
    started_at: START,
    outcome: "open",
    steps: [tool("1", 200, undefined, { status: "intended" })],
  });
  const { rows, totalMs } = shown(run, [], 5_000);
  expect(first(rows)?.durationMs).toBe(4_800);
  expect(totalMs).toBe(5_000);
});

it("never draws a bar outside of the time line, or one that is invisible", () => {
  const run = sampleRun({ started_at: START, ended_at: after(100), duration_ms: 100, steps: [tool("1", 100, 0)] });
  const { rows, totalMs } = shown(run);
  const { start, width } = barOf(first(rows), totalMs);
  expect(width).toBeGreaterThan(0);
  expect(start + width).toBeLessThanOrEqual(100);
  const early = sampleRun({ started_at: START, steps: [tool("1", -50, 10)] });
  expect(first(shown(early).rows)?.offsetMs).toBe(0);
});

it("finds the sub-run of the call that started it", () => {
  const link = (key: string) => ({ agent_id: "other", run_key: key, status: "completed" as const });
  const run = sampleRun({
    started_at: START,
    steps: [tool("1", 0, 5), tool("2", 10, 90, { name: "StartRun" }), tool("3", 100, 5, { name: "StartRun" })],
    children: [link("c1"), link("c2")],
  });
  const child = sampleRun({ run_key: "c1", agent_id: "other", started_at: after(20), steps: [tool("4", 30, 40)] });
  const { rows, subRuns } = shown(run, [child]);
  expect([...subRuns].map(([id, one]) => [id, one.run_key])).toEqual([["2", "c1"]]);
  expect(rows.get("4")).toMatchObject({ offsetMs: 30, durationMs: 40 });
});
