// Reads the details of events.
import type { Event, EventKind, EventPayload, Usage } from "../api/types";

/** The text of an event without its title, with which its summary may start. */
export function summaryBody({ presentation: { title, body, summary } }: Event): string {
  if (body) return body;
  return summary.startsWith(title)
    ? summary
        .slice(title.length)
        .replace(/^[:,]\s*/, "")
        .trim()
    : summary;
}

/**
 * The details of an event of this kind; undefined for another kind. Each member may be missing: the details may be
 * erased or come from another version of the server.
 */
export function payloadOf<K extends EventKind>(
  event: Event | undefined,
  kind: K,
): Partial<EventPayload<K>> | undefined {
  return event?.kind === kind ? (event.payload as Partial<EventPayload<K>>) : undefined;
}

export function totalTokens(usage: Usage | undefined): number | undefined {
  return usage && usage.input_tokens + usage.output_tokens;
}
