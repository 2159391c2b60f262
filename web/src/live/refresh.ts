// Fetches answers again that have become stale, so that the last word is always one that was asked for after the change.
import type { InvalidateQueryFilters, QueryClient } from "@tanstack/react-query";

/**
 * Resolves when everything that is shown has been asked for anew. What is under way was perhaps read before the change: it
 * is waited for, shown and asked for once more. It is not cut off, or where changes come faster than answers none would arrive.
 */
export async function refresh(client: QueryClient, which: InvalidateQueryFilters): Promise<void> {
  const isUnderWay = client.isFetching(which) > 0;
  await client.invalidateQueries(which, { cancelRefetch: false });
  if (isUnderWay) await client.invalidateQueries(which, { cancelRefetch: false });
}
