// Retries queries while the daemon does not respond or is not ready.
import { Failure } from "../api/failure";
import { suspectConnection } from "./connection";
import { probeStream } from "./probe";

/** Whether a retry can succeed soon: the daemon does not respond, or is not ready yet. */
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
