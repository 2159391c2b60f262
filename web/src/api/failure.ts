// What a call can end with instead of an answer, in one shape: a sentence, and the way out.
import type { Problem } from "./types";

export class Failure extends Error {
  constructor(
    /** The server's stable word, or `unreachable`. */
    readonly code: string,
    message: string,
    readonly hint: string,
    /** The HTTP status; 0 when nobody answered, so that nobody knows whether the call arrived. */
    readonly status: number,
  ) {
    super(message);
    this.name = "Failure";
  }
}

export function unreachable(): Failure {
  return new Failure(
    "unreachable",
    "Wakeful does not answer.",
    "See that it still runs: `wakeful status` in a terminal.",
    0,
  );
}

/** Reads an error body. What is no error of ours (a proxy's page, say) becomes one. */
export function failureOf(status: number, body: unknown): Failure {
  const problem = (body as { error?: Partial<Problem> } | undefined)?.error;
  if (typeof problem?.code === "string" && typeof problem.message === "string") {
    return new Failure(problem.code, problem.message, problem.hint ?? "", status);
  }
  return new Failure(
    "unexpected_answer",
    `The server answered with status ${status} and no reason.`,
    "Try again in a moment.",
    status,
  );
}

/** Any thrown thing as a failure, so that a page has one thing to show. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure("page_error", `This page made a mistake: ${message}`, "Reload it.", 0);
}
