// The part of the form for agents that limits how often a tool may be used.
import type { ToolQuota } from "../api/types";
import { labels } from "../labels";

/** An empty text stands for no limit. */
export interface QuotaDraft {
  perDay: string;
  perSession: string;
}

/** The limits by the name of the tool; a tool without limits has no entry. */
export type QuotaDrafts = Readonly<Record<string, QuotaDraft>>;

const NO_QUOTA: QuotaDraft = { perDay: "", perSession: "" };

/** The limits of the server. */
const USES_MAX = 1_000_000;
const TOOLS_MAX = 64;

export function quotaDraftsOf(quotas: Readonly<Record<string, ToolQuota>> | undefined): QuotaDrafts {
  const drafts = Object.entries(quotas ?? {}).map(([tool, quota]) => [
    tool,
    { perDay: textOf(quota.max_per_day), perSession: textOf(quota.max_per_session) },
  ]);
  return sorted(Object.fromEntries(drafts));
}

export function quotaOf(drafts: QuotaDrafts, tool: string): QuotaDraft {
  return drafts[tool] ?? NO_QUOTA;
}

/** The drafts with a changed limit of a tool. Equal limits are equal as JSON, so that an undone change is not sent. */
export function withQuota(drafts: QuotaDrafts, tool: string, change: Partial<QuotaDraft>): QuotaDrafts {
  const { [tool]: before = NO_QUOTA, ...others } = drafts;
  const after = { ...before, ...change };
  return isEmpty(after) ? others : sorted({ ...others, [tool]: after });
}

/** The quotas of the API contract; null when no tool has one. */
export function toolQuotasOf(drafts: QuotaDrafts): Record<string, ToolQuota> | null {
  const quotas = Object.entries(drafts)
    .filter(([, draft]) => !isEmpty(draft))
    .map(([tool, { perDay, perSession }]) => [
      tool,
      {
        ...(perDay.trim() === "" ? {} : { max_per_day: Number(perDay) }),
        ...(perSession.trim() === "" ? {} : { max_per_session: Number(perSession) }),
      },
    ]);
  return quotas.length === 0 ? null : Object.fromEntries(quotas);
}

/** What is wrong with the limits; none when they are valid. */
export function quotaError(drafts: QuotaDrafts): string | undefined {
  const { errors } = labels.agentForm;
  const wrong = Object.entries(drafts).filter(
    ([, { perDay, perSession }]) => isInvalidLimit(perDay) || isInvalidLimit(perSession),
  );
  if (wrong.length > 0) return errors.toolQuotas(wrong.map(([tool]) => tool));
  return Object.keys(drafts).length > TOOLS_MAX ? errors.toolQuotasMany(TOOLS_MAX) : undefined;
}

export function isInvalidLimit(text: string): boolean {
  const limit = text.trim();
  return limit !== "" && !(/^[1-9]\d*$/.test(limit) && Number(limit) <= USES_MAX);
}

function isEmpty({ perDay, perSession }: QuotaDraft): boolean {
  return perDay.trim() === "" && perSession.trim() === "";
}

function textOf(limit: number | null | undefined): string {
  return limit === undefined || limit === null ? "" : String(limit);
}

function sorted(drafts: QuotaDrafts): QuotaDrafts {
  return Object.fromEntries(Object.entries(drafts).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
