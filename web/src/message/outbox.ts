// Messages that are being sent. Each keeps its idempotency key over every retry: if the first attempt arrived and only its
// response was lost, the server recognizes the second one.

import type { Failure } from "../api/failure";
import { labels } from "../labels";

export interface Outgoing {
  key: string;
  text: string;
  at: string;
  state: "sending" | "accepted" | "failed";
  /** The run that answers it, once it is accepted. */
  runKey?: string;
  problem?: { message: string; hint: string };
}

export type Outbox = readonly Outgoing[];

export function write(outbox: Outbox, text: string, key: string, now: Date): Outbox {
  return [...outbox, { key, text, at: now.toISOString(), state: "sending" }];
}

export function accept(outbox: Outbox, key: string, runKey: string): Outbox {
  return changeMessage(outbox, key, (message) => ({ ...message, state: "accepted", runKey, problem: undefined }));
}

export function fail(outbox: Outbox, key: string, { message, hint }: Pick<Failure, "message" | "hint">): Outbox {
  return changeMessage(outbox, key, (one) => ({ ...one, state: "failed", problem: { message, hint } }));
}

/** Sends the same message with the same key again. */
export function retry(outbox: Outbox, key: string): Outbox {
  return changeMessage(outbox, key, (message) => ({ ...message, state: "sending", problem: undefined }));
}

export function discard(outbox: Outbox, key: string): Outbox {
  return outbox.filter((message) => message.key !== key);
}

/** Drops messages whose run is in the queue or the transcript of the server. */
export function dropShown(outbox: Outbox, shown: ReadonlySet<string>): Outbox {
  const left = outbox.filter((message) => message.runKey === undefined || !shown.has(message.runKey));
  return left.length === outbox.length ? outbox : left;
}

function changeMessage(outbox: Outbox, key: string, alter: (message: Outgoing) => Outgoing): Outbox {
  return outbox.map((message) => (message.key === key ? alter(message) : message));
}

const storageKey = (agentId: string) => `wakeful.outbox.${agentId}`;

/** Messages that were not accepted when the page was closed. The reader decides whether to send them again. */
export function storedOutbox(agentId: string): Outbox {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(storageKey(agentId)) ?? "[]");
    if (!Array.isArray(list)) return [];
    const problem = { message: labels.message.notConfirmed, hint: labels.message.notConfirmedHint };
    return (list as Outgoing[]).map((message) => ({
      ...message,
      state: "failed",
      problem: message.problem ?? problem,
    }));
  } catch {
    return [];
  }
}

export function storeOutbox(agentId: string, outbox: Outbox): void {
  const open = outbox.filter((message) => message.state !== "accepted");
  if (open.length === 0) sessionStorage.removeItem(storageKey(agentId));
  else sessionStorage.setItem(storageKey(agentId), JSON.stringify(open));
}
