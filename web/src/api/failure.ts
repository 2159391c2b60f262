// What a request ends with when it gets no usable response: a message and a hint, in one shape.
import { labels } from "../labels";
import type { Problem } from "./types";

export class Failure extends Error {
  constructor(
    /** The server's stable code, or `unreachable`. */
    readonly code: string,
    message: string,
    readonly hint: string,
    /** The HTTP status; 0 when there was no response, so that it is unknown whether the request arrived. */
    readonly status: number,
  ) {
    super(message);
    this.name = "Failure";
  }
}

export function unreachable(): Failure {
  return new Failure("unreachable", labels.failure.unreachable, labels.failure.unreachableHint, 0);
}

/** Reads an error body. A body of another shape (a proxy's page, say) becomes a general failure. */
export function failureOf(status: number, body: unknown): Failure {
  const problem = (body as { error?: Partial<Problem> } | undefined)?.error;
  if (typeof problem?.code === "string" && typeof problem.message === "string") {
    return new Failure(problem.code, problem.message, problem.hint ?? "", status);
  }
  const { unexpected, unexpectedHint } = labels.failure;
  return new Failure("unexpected_response", unexpected(status), unexpectedHint, status);
}

/** Any thrown value as a failure, so that a page has one shape to show. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure("page_error", labels.failure.pageError(message), labels.failure.pageErrorHint, 0);
}
