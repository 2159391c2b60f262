// Messages on their way. Each has its key from the moment it is written, and keeps it over every retry: if the first
// attempt arrived and only its answer was lost, the second one is the same message and not another.
import type { Failure } from "../api/failure";

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

/** The same message under the same key, once more. */
export function retry(outbox: Outbox, key: string): Outbox {
  return changeMessage(outbox, key, (message) => ({ ...message, state: "sending", problem: undefined }));
}

export function discard(outbox: Outbox, key: string): Outbox {
  return outbox.filter((message) => message.key !== key);
}

/** Drops what the server shows by itself: the run is in the queue or in the transcript. */
export function dropShown(outbox: Outbox, shown: ReadonlySet<string>): Outbox {
  const left = outbox.filter((message) => message.runKey === undefined || !shown.has(message.runKey));
  return left.length === outbox.length ? outbox : left;
}

function changeMessage(outbox: Outbox, key: string, alter: (message: Outgoing) => Outgoing): Outbox {
  return outbox.map((message) => (message.key === key ? alter(message) : message));
}

const storageKey = (agentId: string) => `wakeful.outbox.${agentId}`;

/** What was not accepted when the page was left. Nobody knows whether it arrived, so a person decides, under its key. */
export function storedOutbox(agentId: string): Outbox {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(storageKey(agentId)) ?? "[]");
    if (!Array.isArray(list)) return [];
    const problem = {
      message: "The page was left before this was confirmed.",
      hint: "Send it again: it cannot arrive twice.",
    };
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
