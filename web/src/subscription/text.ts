// The conditions of a subscription, in the syntax of the command line.
import type { Subscription } from "../api/types";
import { labels } from "../labels";
import { formatDuration } from "../text/time";

/** The conditions, one text each. */
export function conditions(one: Subscription): string[] {
  const { all, any, cooldown, debounce, guard, predicate } = labels.subscription.conditions;
  const parts = [
    one.any.length > 0 && any(one.any),
    one.all.length > 0 && all(one.all),
    one.predicate && predicate(predicateText(one.predicate)),
    one.guard && guard(predicateText(one.guard)),
    one.cooldown_ms > 0 && cooldown(formatDuration(one.cooldown_ms)),
    one.debounce_ms > 0 && debounce(formatDuration(one.debounce_ms)),
  ];
  return parts.filter((part) => part !== false && part !== undefined);
}

/** A predicate of equalities as it is typed on the command line; every other one as JSON. */
function predicateText(predicate: Record<string, unknown>): string {
  const parts: unknown[] = Array.isArray(predicate.all) ? predicate.all : [predicate];
  const equalities = parts.map(equality);
  const isPlain = equalities.length > 0 && equalities.every((part) => part !== undefined);
  return isPlain ? equalities.join(" and ") : JSON.stringify(predicate);
}

function equality(part: unknown): string | undefined {
  const { field, op, value } = part as Record<string, unknown>;
  const isPlain = ["string", "number", "boolean"].includes(typeof value);
  return typeof field === "string" && op === "eq" && isPlain ? `${field}=${String(value)}` : undefined;
}
