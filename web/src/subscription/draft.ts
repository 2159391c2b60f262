// The fields of the form for subscriptions.
import type { CreateSubscription } from "../api/types";
import { labels } from "../labels";

/** The limits of the API contract. */
const COOLDOWN_MINUTES_MAX = 10_080;
const DEBOUNCE_SECONDS_MAX = 3_600;

export interface SubscriptionDraft {
  name: string;
  any: string;
  all: string;
  where: string;
  cooldown: string;
  debounce: string;
  message: string;
}

export const EMPTY_SUBSCRIPTION: SubscriptionDraft = {
  name: "",
  any: "",
  all: "",
  where: "",
  cooldown: "",
  debounce: "",
  message: "",
};

/** The names of the fields in the API contract, and in the form. */
export const FIELD_NAMES = {
  subscription_id: "name",
  any: "any",
  all: "all",
  predicate: "where",
  cooldown_ms: "cooldown",
  debounce_ms: "debounce",
  message: "message",
} as const satisfies Record<string, keyof SubscriptionDraft>;

/** What is wrong with the fields; empty when they are valid. */
export function subscriptionErrors(draft: SubscriptionDraft): Partial<Record<keyof SubscriptionDraft, string>> {
  const { number, tokens, where } = labels.subscription.errors;
  return {
    ...(words(draft.any).length + words(draft.all).length === 0 ? { any: tokens } : {}),
    ...(words(draft.where).every((part) => /^[\w.]+=./.test(part)) ? {} : { where }),
    ...(isCount(draft.cooldown, COOLDOWN_MINUTES_MAX) ? {} : { cooldown: number(COOLDOWN_MINUTES_MAX) }),
    ...(isCount(draft.debounce, DEBOUNCE_SECONDS_MAX) ? {} : { debounce: number(DEBOUNCE_SECONDS_MAX) }),
  };
}

export function createSubscriptionOf(agentId: string, draft: SubscriptionDraft): CreateSubscription {
  const parts = words(draft.where).map(equality);
  return {
    agent_id: agentId,
    ...(draft.name.trim() === "" ? {} : { subscription_id: draft.name.trim() }),
    any: words(draft.any),
    all: words(draft.all),
    ...(parts.length === 0 ? {} : { predicate: parts.length === 1 ? parts[0] : { all: parts } }),
    cooldown_ms: Number(draft.cooldown) * 60_000,
    debounce_ms: Number(draft.debounce) * 1_000,
    message: draft.message.trim(),
  } as CreateSubscription;
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function isCount(text: string, max: number): boolean {
  return text.trim() === "" || (/^\d+$/.test(text.trim()) && Number(text) <= max);
}

/** `field=value` as a predicate. A number or a truth value is compared as such, as on the command line. */
function equality(part: string): { field: string; op: "eq"; value: unknown } {
  const [field = "", ...rest] = part.split("=");
  const text = rest.join("=");
  const isLiteral = /^(true|false|-?\d+(\.\d+)?)$/.test(text);
  return { field, op: "eq", value: isLiteral ? JSON.parse(text) : text };
}
