// What a query does when nobody answers: it waits, and the banner says for what.
import { Failure } from "../api/failure";
import { doubtConnection } from "./connection";
import { probe } from "./probe";

/** Whether the same question may be answered in a moment: the daemon is away, or not yet ready. */
export function isPassing(thrown: unknown): boolean {
  return thrown instanceof Failure && (thrown.status === 0 || thrown.status === 503);
}

export function retryWhilePassing(_failures: number, thrown: Error): boolean {
  if (!isPassing(thrown)) return false;
  void probe().then((standing) => standing !== "ready" && doubtConnection(standing));
  return true;
}

export function retryDelay(failures: number): number {
  return Math.min(250 * 2 ** failures, 4_000);
}
