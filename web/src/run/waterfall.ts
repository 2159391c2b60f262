// The steps of a run on a time line: when each started and how long it took, relative to the start of the run.
import type { Run, Step } from "../api/types";

/** The tool that starts a run of another agent. */
const START_RUN = "StartRun";

/** Anything shorter would not be visible. */
const BAR_PERCENT_MIN = 0.7;

export interface Row {
  id: string;
  /** The run of the step; another one than the page's for a step of a sub-run. */
  runKey: string;
  agentId: string;
  step: Step;
  /** 1 for a step of a sub-run. */
  depth: 0 | 1;
  /** The number of the model round that the step belongs to, from 1. */
  round: number;
  offsetMs: number;
  durationMs: number;
}

export interface Waterfall {
  rows: readonly Row[];
  totalMs: number;
}

/** The rows of a run. The steps of a sub-run follow the call that started it. */
export function waterfallOf(run: Run, children: readonly Run[], now: number): Waterfall {
  const origin = Date.parse(run.started_at);
  const own = rowsOf(run, origin, now, 0);
  let started = 0;
  const rows = own.flatMap((row) => {
    if (row.step.kind !== "tool" || row.step.name !== START_RUN) return [row];
    const childKey = run.children?.[started]?.run_key;
    started += 1;
    const child = children.find((one) => one.run_key === childKey);
    return child ? [row, ...rowsOf(child, origin, now, 1)] : [row];
  });
  const ends = rows.map((row) => row.offsetMs + row.durationMs);
  const elapsed = run.ended_at ? run.duration_ms : now - origin;
  return { rows, totalMs: Math.max(1, elapsed, ...ends) };
}

function rowsOf(run: Run, origin: number, now: number, depth: 0 | 1): Row[] {
  const attempts = new Map(run.provider_attempt_timeline?.attempts.map((one) => [one.operation_id, one]));
  let round = 0;
  let isAnswered = true;
  return run.steps.map((step) => {
    // Attempts of one round follow each other until one of them is answered.
    if (step.kind === "model") {
      if (isAnswered) round += 1;
      isAnswered = step.status === "ok";
    } else isAnswered = true;
    const attempt = attempts.get(step.operation_id);
    const start = Date.parse(attempt?.started_at ?? step.at);
    const isRunning = step.status === "intended" && !run.ended_at;
    const durationMs = attempt?.duration_ms ?? step.duration_ms ?? (isRunning ? now - start : 0);
    return {
      id: `${run.run_key}/${step.operation_id}`,
      runKey: run.run_key,
      agentId: run.agent_id,
      step,
      depth,
      round: Math.max(1, round),
      // The clocks of two processes can differ a little.
      offsetMs: Math.max(0, start - origin),
      durationMs: Math.max(0, durationMs),
    };
  });
}

/** Where the bar of a row starts and how long it is, in percent of the whole; never outside of it. */
export function barOf({ offsetMs, durationMs }: Row, totalMs: number): { start: number; width: number } {
  const width = Math.max(BAR_PERCENT_MIN, Math.min(100, (durationMs / totalMs) * 100));
  return { start: Math.min((offsetMs / totalMs) * 100, 100 - width), width };
}
