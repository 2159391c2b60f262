// The steps of a run on a time line: when each started and how long it took, relative to the start of the run.
import type { Run, Step } from "../api/types";

/** The tool that starts a run of another agent. */
const START_RUN = "StartRun";

/** Anything shorter would not be visible. */
const BAR_PERCENT_MIN = 0.7;

export interface Row {
  step: Step;
  offsetMs: number;
  durationMs: number;
}

export interface Waterfall {
  /** The steps of the run and of its sub-runs, by operation id. */
  rows: ReadonlyMap<string, Row>;
  /** The sub-run that each call started, by the operation id of the call. */
  subRuns: ReadonlyMap<string, Run>;
  totalMs: number;
}

/** The time line of a run and of the sub-runs that it started. */
export function waterfallOf(run: Run, children: readonly Run[], now: number): Waterfall {
  const origin = Date.parse(run.started_at);
  const starts = run.steps.filter((step) => step.kind === "tool" && step.name === START_RUN);
  const subRuns = new Map<string, Run>();
  starts.forEach((step, index) => {
    const child = children.find((one) => one.run_key === run.children?.[index]?.run_key);
    if (child) subRuns.set(step.operation_id, child);
  });
  const rows = [run, ...subRuns.values()].flatMap((one) => rowsOf(one, origin, now));
  const end = rows.reduce((latest, row) => Math.max(latest, row.offsetMs + row.durationMs), 1);
  const elapsed = run.ended_at ? run.duration_ms : now - origin;
  return { rows: new Map(rows.map((row) => [row.step.operation_id, row])), subRuns, totalMs: Math.max(elapsed, end) };
}

function rowsOf(run: Run, origin: number, now: number): Row[] {
  const attempts = new Map(run.provider_attempt_timeline?.attempts.map((one) => [one.operation_id, one]));
  return run.steps.map((step) => {
    const attempt = attempts.get(step.operation_id);
    const start = Date.parse(attempt?.started_at ?? step.at);
    const isRunning = step.status === "intended" && !run.ended_at;
    const durationMs = attempt?.duration_ms ?? step.duration_ms ?? (isRunning ? now - start : 0);
    // The clocks of two processes can differ a little.
    return { step, offsetMs: Math.max(0, start - origin), durationMs: Math.max(0, durationMs) };
  });
}

/** Where the bar of a row starts and how long it is, in percent of the whole; never outside of it. */
export function barOf({ offsetMs, durationMs }: Row, totalMs: number): { start: number; width: number } {
  const width = Math.max(BAR_PERCENT_MIN, Math.min(100, (durationMs / totalMs) * 100));
  return { start: Math.min((offsetMs / totalMs) * 100, 100 - width), width };
}
