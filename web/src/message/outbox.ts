// Messages that are being sent. Each keeps its idempotency key over every retry: if the first attempt arrived and only its
// response was lost, the server recognizes the second one.

import type { Failure } from "../api/failure";
import type { AttachmentInput } from "../api/types";
import { labels } from "../labels";

/** What the reader wrote. */
export interface Draft {
  text: string;
  attachments?: readonly AttachmentInput[];
  /** Joins the current run instead of waiting for its end. */
  priority?: "interject";
}

export interface Outgoing extends Draft {
  key: string;
  at: string;
  /** `waiting` for the connection: it is sent again without the reader. */
  state: "sending" | "accepted" | "waiting" | "failed";
  /** The run that answers it, once it is accepted. */
  runKey?: string;
  problem?: { message: string; hint: string };
  /** Whether it cannot be sent again, because the browser does not store files. */
  isIncomplete?: boolean;
}

export type Outbox = readonly Outgoing[];

export function write(outbox: Outbox, draft: Draft, key: string, now: Date): Outbox {
  return [...outbox, { ...draft, key, at: now.toISOString(), state: "sending" }];
}

export function accept(outbox: Outbox, key: string, runKey: string): Outbox {
  return changeMessage(outbox, key, (message) => ({ ...message, state: "accepted", runKey, problem: undefined }));
}

/** Without a response the message waits for the connection. A refusal is final until the reader acts. */
export function fail(
  outbox: Outbox,
  key: string,
  { message, hint, status }: Pick<Failure, "message" | "hint" | "status">,
): Outbox {
  const state = status === 0 ? "waiting" : "failed";
  return changeMessage(outbox, key, (one) => ({ ...one, state, problem: { message, hint } }));
}

/** Sends the same message with the same key again. */
export function retry(outbox: Outbox, key: string): Outbox {
  return changeMessage(outbox, key, (message) => ({ ...message, state: "sending", problem: undefined }));
}

export function discard(outbox: Outbox, key: string): Outbox {
  return outbox.filter((message) => message.key !== key);
}

/**
 * The run of a message, which the server derives from the message's key. So a message that arrived, and whose response was
 * lost before a reload, is recognized. Undefined where the browser cannot hash, which is only without a secure connection.
 */
export async function runKeyOf(agentId: string, thread: string, key: string): Promise<string | undefined> {
  const escaped = (field: string) => field.replaceAll("%", "%25").replaceAll("|", "%7C");
  const text = ["v1", "run.user", ...[agentId, thread, key].map(escaped)].join("|");
  const hash = await globalThis.crypto.subtle?.digest("SHA-256", new TextEncoder().encode(text));
  return hash && Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Notes the run of a message whose response is not known. */
export function noteRun(outbox: Outbox, key: string, runKey: string): Outbox {
  return changeMessage(outbox, key, (message) => ({ runKey, ...message }));
}

/** Drops messages whose run is in the queue or the transcript of the server. */
export function dropShown(outbox: Outbox, shown: ReadonlySet<string>): Outbox {
  const left = outbox.filter((message) => message.runKey === undefined || !shown.has(message.runKey));
  return left.length === outbox.length ? outbox : left;
}

function changeMessage(outbox: Outbox, key: string, alter: (message: Outgoing) => Outgoing): Outbox {
  return outbox.map((message) => (message.key === key ? alter(message) : message));
}

/** `place` names the agent and the conversation. */
const storageKey = (place: string) => `wakeful.outbox.${place}`;

/** Messages that were not accepted when the page was closed. The reader decides whether to send them again. */
export function storedOutbox(place: string): Outbox {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(storageKey(place)) ?? "[]");
    return Array.isArray(list) ? (list as Outgoing[]).map(restored) : [];
  } catch {
    return [];
  }
}

function restored(message: Outgoing): Outgoing {
  const { filesLost, filesLostHint, notConfirmed, notConfirmedHint } = labels.message;
  const isIncomplete = (message.attachments ?? []).length > 0;
  const problem = isIncomplete
    ? { message: filesLost, hint: filesLostHint }
    : (message.problem ?? { message: notConfirmed, hint: notConfirmedHint });
  return { ...message, state: "failed", problem, isIncomplete };
}

export function storeOutbox(place: string, outbox: Outbox): void {
  const open = outbox.filter((message) => message.state !== "accepted").map(withoutFiles);
  try {
    if (open.length === 0) sessionStorage.removeItem(storageKey(place));
    else sessionStorage.setItem(storageKey(place), JSON.stringify(open));
  } catch {
    // The storage is full. The messages stay on the page, and only a reload would lose them.
  }
}

/** Only the names of files are stored: the storage of a browser is smaller than they may be. */
function withoutFiles({ attachments, ...message }: Outgoing): Outgoing {
  return attachments ? { ...message, attachments: attachments.map((one) => ({ ...one, data: "" })) } : message;
}
