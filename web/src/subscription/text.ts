// What a subscription asks for, in the words in which a person types it.
import type { Subscription } from "../api/types";
import { formatDuration } from "../text/time";

/** A subscription, condition by condition. */
export function conditions(one: Subscription): string[] {
  const parts = [
    one.any.length > 0 && `on ${one.any.join(" or ")}`,
    one.all.length > 0 && `with ${one.all.join(" and ")}`,
    one.predicate && `where ${predicateText(one.predicate)}`,
    one.guard && `when ${predicateText(one.guard)}`,
    one.cooldown_ms > 0 && `at most every ${formatDuration(one.cooldown_ms)}`,
    one.debounce_ms > 0 && `gathered for ${formatDuration(one.debounce_ms)}`,
  ];
  return parts.filter((word) => word !== false && word !== undefined);
}

/** A predicate as it was typed, where that is all it says; else as it is kept. */
function predicateText(predicate: Record<string, unknown>): string {
  const parts: unknown[] = Array.isArray(predicate.all) ? predicate.all : [predicate];
  const equal = parts.map(equality);
  return equal.length > 0 && equal.every((word) => word !== undefined)
    ? equal.join(" and ")
    : JSON.stringify(predicate);
}

function equality(part: unknown): string | undefined {
  const { field, op, value } = part as Record<string, unknown>;
  const isPlain = ["string", "number", "boolean"].includes(typeof value);
  return typeof field === "string" && op === "eq" && isPlain ? `${field}=${String(value)}` : undefined;
}
