// Amounts of money. The server sends dollars as text, which is never rounded; here they are counted in millionths.

import type { Budget, BudgetExceeded, Event, ParkedAmounts } from "../api/types";
import { payloadOf } from "../event/payload";
import { labels } from "../labels";
import { formatInteger } from "../text/number";
import { amountText } from "./limit";

const MICRO = 1_000_000;

/** The highest cap of the API contract, in dollars. */
export const CAP_USD_MAX = 1_000_000;

/** The pattern of an amount in the API contract. */
const AMOUNT = /^[0-9]{1,7}([.][0-9]{1,6})?$/;

/** From this part of the cap on, the page warns. */
const NEAR = 0.8;

/** Millionths of a dollar; zero for a text that is not an amount. */
export function microOf(usd: string | undefined): number {
  const micro = Math.round(Number(usd ?? 0) * MICRO);
  return Number.isFinite(micro) ? micro : 0;
}

/** Dollars as the server writes them: every decimal, and at least two. */
export function usdOf(micro: number): string {
  const decimals = String(micro % MICRO)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${Math.floor(micro / MICRO)}.${decimals.padEnd(2, "0")}`;
}

/** "$1,234.50". Not rounded: a run can cost less than a cent. */
export function dollars(usd: string): string {
  const [whole = "0", decimals = ""] = usd.split(".");
  return `$${formatInteger(Number(whole))}.${decimals.padEnd(2, "0")}`;
}

export function isSpent(usd: string | undefined): usd is string {
  return microOf(usd) > 0;
}

export type CapUsage = "fine" | "near" | "full";

/** How much of a cap is used. Reserved amounts count: no other request can use them. */
export function capUsage(spentUsd: string, reservedUsd: string, capUsd: string): { percent: number; usage: CapUsage } {
  const gone = microOf(spentUsd) + microOf(reservedUsd);
  const cap = microOf(capUsd);
  const part = cap === 0 ? 1 : Math.min(1, gone / cap);
  return { percent: Math.floor(part * 100), usage: part >= 1 ? "full" : part > NEAR ? "near" : "fine" };
}

/** What is wrong with a cap that a person typed; undefined when it is valid. */
export function capError(text: string): string | undefined {
  const amount = text.trim();
  if (amount === "") return labels.budget.enterAmount;
  if (!AMOUNT.test(amount)) return labels.budget.notAnAmount;
  return Number(amount) > CAP_USD_MAX ? labels.budget.maximum(dollars(String(CAP_USD_MAX))) : undefined;
}

/** Why a run is parked. */
export function parkedText({ scope, resource, period, max, used, needed }: ParkedAmounts): string {
  if (resource === "money" && period === "daily") {
    const [cap, spent, cost] = [max, used, needed].map((micro) => dollars(usdOf(micro)));
    return labels.budget.parkedReason(scope, cap ?? "", spent ?? "", cost ?? "");
  }
  const amount = (one: number) => amountText(resource, one);
  return labels.budget.limitReason(labels.budget.limitOf[scope], amount(max), amount(used), amount(needed));
}

/** Whether the next request of a parked run fits under the cap of another day. */
export function fitsAnotherDay({ max, needed }: ParkedAmounts): boolean {
  return needed <= max;
}

/** What a parked run waits for. A cap is reached only when all of it is spent. */
export function parkedHeadline(parked: ParkedAmounts | undefined): string {
  if (!parked) return labels.budget.waits;
  const { resource, period, max, used, needed } = parked;
  if (resource !== "money" || period !== "daily") return labels.budget.parkedByLimit;
  const [cap, cost, left] = [max, needed, Math.max(0, max - used)].map((micro) => dollars(usdOf(micro)));
  if (!fitsAnotherDay(parked)) return labels.budget.parkedNever(cost ?? "", cap ?? "");
  return used >= max ? labels.budget.parked : labels.budget.parkedLeft(cost ?? "", left ?? "", cap ?? "");
}

/** The amounts of a parked run from its event; undefined when its details were erased or have another shape. */
export function parkedOf(event: Event): ParkedAmounts | undefined {
  const { code, exceeded } = payloadOf(event, "run_parked") ?? {};
  const { scope, resource, period, limit, max, used, needed }: Partial<BudgetExceeded> = exceeded ?? {};
  if (code === undefined || scope === undefined || resource === undefined || period === undefined) return undefined;
  if (max === undefined || used === undefined || needed === undefined) return undefined;
  return { code, scope, resource, period, limit_id: limit ?? undefined, max, used, needed };
}

export interface Today {
  spentUsd: string;
  /** The agent's own cap, if it has one. */
  capUsd?: string;
}

/** "$0.12 of $1.00 today", "$0.12 today". */
export function todayText({ spentUsd, capUsd }: Today): string {
  const amount = capUsd === undefined ? dollars(spentUsd) : labels.budget.amountOf(dollars(spentUsd), dollars(capUsd));
  return `${amount} ${labels.budget.today}`;
}

/** What an agent spent today, and its cap. An agent that is not in the list spent nothing and has no cap of its own. */
export function todayOf(budget: Budget | undefined, agentId: string): Today | undefined {
  if (!budget) return undefined;
  const own = budget.agents.find((one) => one.agent_id === agentId);
  return { spentUsd: own?.spent_usd ?? "0.00", capUsd: own?.daily_cap_usd };
}
