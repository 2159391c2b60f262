// Amounts of money. The server gives dollars as text, so that none is rounded; here they are counted in millionths.
import type { Budget, Event, Exceeded, Parked } from "../api/types";
import { payloadOf } from "../event/payload";
import { formatInteger } from "../text/number";

const MICRO = 1_000_000;

/** The contract's bound of a cap, in dollars. */
export const CAP_USD_MAX = 1_000_000;

/** The contract's pattern of an amount. */
const AMOUNT = /^[0-9]{1,7}([.][0-9]{1,6})?$/;

/** From this part of the cap on, somebody should know. */
const NEAR = 0.8;

/** Millionths of a dollar; what is no amount is nothing. */
export function microOf(usd: string | undefined): number {
  const micro = Math.round(Number(usd ?? 0) * MICRO);
  return Number.isFinite(micro) ? micro : 0;
}

/** Dollars as the server writes them: all the decimals that there are, and at least two. */
export function usdOf(micro: number): string {
  const decimals = String(micro % MICRO)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${Math.floor(micro / MICRO)}.${decimals.padEnd(2, "0")}`;
}

/** "$1,234.50". Not rounded: a run may well cost less than a cent. */
export function dollars(usd: string): string {
  const [whole = "0", decimals = ""] = usd.split(".");
  return `$${formatInteger(Number(whole))}.${decimals.padEnd(2, "0")}`;
}

/** Whether money was spent at all. */
export function isSpent(usd: string | undefined): usd is string {
  return microOf(usd) > 0;
}

export type CapUsage = "fine" | "near" | "full";

/** How much of a cap is gone, with what is put aside: that part can no longer be promised to anybody. */
export function capUsage(spentUsd: string, reservedUsd: string, capUsd: string): { percent: number; usage: CapUsage } {
  const gone = microOf(spentUsd) + microOf(reservedUsd);
  const cap = microOf(capUsd);
  const part = cap === 0 ? 1 : Math.min(1, gone / cap);
  return { percent: Math.floor(part * 100), usage: part >= 1 ? "full" : part > NEAR ? "near" : "fine" };
}

/** What is wrong with an amount that a person wrote as a cap; nothing when it will do. */
export function capError(text: string): string | undefined {
  const amount = text.trim();
  if (amount === "") return "Write an amount in dollars, such as 2.50.";
  if (!AMOUNT.test(amount))
    return "That is no amount: write digits, and a point with up to six decimals, such as 2.50.";
  return Number(amount) > CAP_USD_MAX ? `At most ${dollars(String(CAP_USD_MAX))} a day.` : undefined;
}

/** Why a run waits, as two sentences. */
export function parkedText(parked: Parked): string {
  const whose = parked.scope === "agent" ? "This agent may" : "All agents together may";
  return (
    `${whose} spend ${dollars(parked.cap_usd)} a day. ${dollars(parked.spent_usd)} are spent or put aside, ` +
    `and the next request may cost up to ${dollars(parked.needed_usd)}.`
  );
}

/** What an event says about a run that waits; nothing when its details were erased or are of a kind unknown here. */
export function parkedOf(event: Event): Parked | undefined {
  const { code, exceeded } = payloadOf(event, "run_parked") ?? {};
  const { scope, cap, spent, needed }: Partial<Exceeded> = exceeded ?? {};
  if (code === undefined || scope === undefined) return undefined;
  if (cap === undefined || spent === undefined || needed === undefined) return undefined;
  return {
    code,
    scope,
    cap_usd: usdOf(cap),
    spent_usd: usdOf(spent),
    needed_usd: usdOf(needed),
    day: event.at.slice(0, 10),
  };
}

export interface Today {
  spentUsd: string;
  /** Its own cap, where it has one. */
  capUsd?: string;
}

/** "$0.12 of $1.00 today", "$0.12 today". */
export function todayText({ spentUsd, capUsd }: Today): string {
  return `${dollars(spentUsd)}${capUsd === undefined ? "" : ` of ${dollars(capUsd)}`} today`;
}

/** What an agent spent today, and may. Who is not in the list spent nothing and has no cap of its own. */
export function todayOf(budget: Budget | undefined, agentId: string): Today | undefined {
  if (!budget) return undefined;
  const own = budget.agents.find((one) => one.agent_id === agentId);
  return { spentUsd: own?.spent_usd ?? "0.00", capUsd: own?.daily_cap_usd };
}
