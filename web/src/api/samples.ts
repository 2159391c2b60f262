// Made-up answers for tests.
import type { AgentStatus, Delta, Event, Level, TranscriptLine } from "./types";

/** An event of `main` with just what a test says about it. */
export function sampleEvent(seq: number, over: Partial<Event> & { visibility?: Level } = {}): Event {
  const { visibility = "progress", ...rest } = over;
  return {
    event_id: `id-${rest.agent_id ?? "main"}-${seq}`,
    agent_id: "main",
    seq,
    at: `2026-01-01T00:00:${String(seq).padStart(2, "0")}Z`,
    kind: "tool_executed",
    presentation: { visibility, category: "tool", title: "Something", summary: `thing ${seq}`, source_event_kind: "tool_executed" },
    provenance: {},
    payload: {},
    ...rest,
  };
}

export function sampleDelta(attempt: number, chunk: number, text: string): Delta {
  return { agent_id: "main", run_key: "r", attempt, chunk, text };
}

export function sampleAgent(over: Partial<AgentStatus> = {}): AgentStatus {
  return {
    agent_id: "main",
    visibility: "public",
    lifecycle: "active",
    control: "running",
    activity: "asleep",
    workspace: "/home/you",
    created_at: "2026-01-01T00:00:00Z",
    pending: 0,
    last_seq: 0,
    token_usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    model_rounds: 0,
    ...over,
  };
}

export function sampleLine(role: TranscriptLine["role"], blocks: TranscriptLine["blocks"], runKey = "r"): TranscriptLine {
  return { run_key: runKey, role, at: "2026-01-01T00:00:00Z", blocks };
}
