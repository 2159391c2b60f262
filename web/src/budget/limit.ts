// Amounts of limits. The server sends them in the smallest unit of their resource.

import type { BudgetLimit, BudgetResource } from "../api/types";
import { labels } from "../labels";
import { formatInteger } from "../text/number";

const SECOND_MS = 1_000;

/** The units that people may type, in the smallest unit of the resource. */
const UNITS: Record<BudgetResource, Readonly<Record<string, number>>> = {
  money: { "": 1_000_000 },
  tokens: { "": 1 },
  run_time: { ms: 1, s: SECOND_MS, m: 60_000, h: 3_600_000, d: 86_400_000, "": SECOND_MS },
  tool_calls: { "": 1 },
  written_bytes: { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, "": 1 },
};

const TYPED = /^([0-9]+(?:[.][0-9]{1,6})?)([A-Za-z]*)$/;

/** "1,200 tokens", "$2.50", "90 s". Not rounded. */
export function amountText(resource: BudgetResource, amount: number): string {
  switch (resource) {
    case "money": {
      const decimals = String(amount % 1_000_000)
        .padStart(6, "0")
        .replace(/0+$/, "");
      return `$${formatInteger(Math.floor(amount / 1_000_000))}.${decimals.padEnd(2, "0")}`;
    }
    case "tokens":
      return `${formatInteger(amount)} tokens`;
    case "run_time":
      return amount % SECOND_MS === 0 ? `${formatInteger(amount / SECOND_MS)} s` : `${formatInteger(amount)} ms`;
    case "tool_calls":
      return `${formatInteger(amount)} tool calls`;
    case "written_bytes":
      return `${formatInteger(amount)} bytes`;
  }
}

/** The amount that a person typed; undefined when it is not valid. */
export function parseAmount(resource: BudgetResource, text: string): number | undefined {
  const [, digits = "", unit = ""] = TYPED.exec(text.trim()) ?? [];
  const factor = UNITS[resource][unit];
  if (digits === "" || factor === undefined) return undefined;
  if (resource !== "money" && digits.includes(".")) return undefined;
  const amount = Math.round(Number(digits) * factor);
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** "Tokens, main". */
export function limitName({ resource, scope, subject = "" }: BudgetLimit): string {
  const short = scope === "run" || scope === "tree" ? subject.slice(0, 12) : subject;
  return labels.budget.limitName(labels.budget.resource[resource], labels.budget.limitSubject[scope](short));
}

export type LimitUsage = "fine" | "near" | "full";

const NEAR = 0.8;

/** How much of a limit is used. Reserved amounts count. */
export function limitUsage({ max, used, reserved }: BudgetLimit): { percent: number; usage: LimitUsage } {
  const part = max === 0 ? 1 : Math.min(1, (used + reserved) / max);
  return { percent: Math.floor(part * 100), usage: part >= 1 ? "full" : part > NEAR ? "near" : "fine" };
}

/** Whether a limit is a daily cap on money, which the page shows with the costs. */
export function isDailyCap({ resource, period }: BudgetLimit): boolean {
  return resource === "money" && period === "daily";
}

/** Whether a limit concerns an agent: its own, of one of its sessions, or of all agents. */
export function concerns({ scope, subject = "" }: BudgetLimit, agentId: string): boolean {
  if (scope === "all") return true;
  return subject === agentId || (scope === "session" && subject.startsWith(`${agentId}/`));
}
