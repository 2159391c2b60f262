// What a query does when nobody answers: it waits, and the banner says for what.
import { Failure } from "../api/failure";
import { suspectConnection } from "./connection";
import { probeStream } from "./probe";

/** Whether the same question may be answered in a moment: the daemon is away, or not yet ready. */
export function isTransient(thrown: unknown): boolean {
  return thrown instanceof Failure && (thrown.status === 0 || thrown.status === 503);
}

export function retryWhileTransient(_failures: number, thrown: Error): boolean {
  if (!isTransient(thrown)) return false;
  void probeStream().then((result) => result !== "ready" && suspectConnection(result));
  return true;
}

export function retryDelay(failures: number): number {
  return Math.min(250 * 2 ** failures, 4_000);
}
