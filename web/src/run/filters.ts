// The filters of the list of runs. They are kept in the address, so that a reload, a bookmark and the back button keep them.
import type { RunFilter } from "../api/calls";
import type { RunCause } from "../api/types";
import { labels } from "../labels";

/** Each status by which runs can be filtered, in the order in which they are shown. */
export const STATUSES = [
  "open",
  "waiting",
  "quarantined",
  "completed",
  "failed",
  "out_of_rounds",
  "cancelled",
  "abandoned",
] as const;
export type StatusName = (typeof STATUSES)[number];

/** How far back the list goes, in milliseconds. */
export const PERIODS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 30 * 86_400_000,
};

export interface Filters {
  search: string;
  agent: string;
  statuses: readonly StatusName[];
  cause: string;
  period: string;
}

/** Reads the filters of an address. What it does not know is ignored. */
export function filtersOf(search: string): Filters {
  const query = new URLSearchParams(search);
  const text = (name: string) => query.get(name) ?? "";
  const statuses = text("status").split(",");
  return {
    search: text("search"),
    agent: text("agent"),
    statuses: STATUSES.filter((one) => statuses.includes(one)),
    cause: text("cause") in labels.cause.shortKinds ? text("cause") : "",
    period: text("period") in PERIODS ? text("period") : "",
  };
}

/** The query of an address with these filters; empty without any. */
export function searchOf({ search, agent, statuses, cause, period }: Filters): string {
  const named = { search, agent, status: statuses.join(","), cause, period };
  return new URLSearchParams(Object.entries(named).filter(([, value]) => value !== "")).toString();
}

/** The request for these filters. The start of a period is rounded, so that it stays the same while pages are loaded. */
export function requestOf(filters: Filters, now: number): RunFilter {
  const { search, agent, statuses, cause, period } = filters;
  const span = PERIODS[period];
  const since = span === undefined ? undefined : new Date(Math.floor((now - span) / 60_000) * 60_000).toISOString();
  return {
    ...(search.trim() === "" ? {} : { search: search.trim() }),
    ...(agent === "" ? {} : { agent_id: agent }),
    ...(statuses.length === 0 ? {} : { status: statuses.join(",") }),
    ...(cause === "" ? {} : { cause: cause as RunCause["kind"] }),
    ...(since === undefined ? {} : { since }),
  };
}

export function isFiltered(filters: Filters): boolean {
  return searchOf(filters) !== "";
}
