// The filters of the list of audit entries. They are kept in the address, so that a reload, a bookmark and the back button keep them.
import type { AuditFilter } from "../api/calls";
import type { AuditDecision, GateStage } from "../api/types";
import { labels } from "../labels";
import { PERIODS } from "../run/filters";

const NAMES = ["tool", "agent", "run", "decision", "stage", "period"] as const;
export type Filters = Record<(typeof NAMES)[number], string>;

const RUN_KEY = /^[0-9a-f]{64}$/;

export const isRunKey = (text: string) => text === "" || RUN_KEY.test(text);

/** Reads the filters of an address. What it does not know is ignored. */
export function filtersOf(search: string): Filters {
  const query = new URLSearchParams(search);
  const text = (name: string) => query.get(name) ?? "";
  const known = (name: string, words: object) => (text(name) in words ? text(name) : "");
  return {
    agent: text("agent"),
    run: text("run"),
    tool: text("tool"),
    decision: known("decision", labels.audit.decisions),
    stage: known("stage", labels.audit.stages),
    period: known("period", PERIODS),
  };
}

/** The query of an address with these filters; empty without any. */
export function searchOf(filters: Filters): string {
  const named = NAMES.map((name) => [name, filters[name]] as [string, string]);
  return new URLSearchParams(named.filter(([, value]) => value !== "")).toString();
}

/** The request for these filters. The start of a period is rounded, so that it stays the same while pages are loaded. */
export function requestOf({ agent, run, tool, decision, stage, period }: Filters, now: number): AuditFilter {
  const span = PERIODS[period];
  const since = span === undefined ? undefined : new Date(Math.floor((now - span) / 60_000) * 60_000).toISOString();
  return {
    ...(agent === "" ? {} : { agent_id: agent }),
    ...(run === "" || !isRunKey(run) ? {} : { run_key: run }),
    ...(tool.trim() === "" ? {} : { tool: tool.trim() }),
    ...(decision === "" ? {} : { decision: decision as AuditDecision }),
    ...(stage === "" ? {} : { stage: stage as GateStage }),
    ...(since === undefined ? {} : { since }),
  };
}
