// Fetches answers again that have become stale, so that the last word is always one that was asked for after the change.
import type { InvalidateQueryFilters, Query, QueryClient } from "@tanstack/react-query";

/**
 * Resolves when everything that is shown has been asked for anew. What is under way was perhaps read before the change: it
 * is waited for, shown and asked for once more. It is not cut off, or where changes come faster than answers none would arrive.
 */
export async function refresh(client: QueryClient, which: InvalidateQueryFilters): Promise<void> {
  // Each by itself: one that gets no answer holds up no other.
  await Promise.all(
    client
      .getQueryCache()
      .findAll(which)
      .map((query) => refreshOne(client, query)),
  );
}

async function refreshOne(client: QueryClient, { queryKey, state }: Query): Promise<void> {
  const isUnderWay = state.fetchStatus === "fetching";
  const only = { queryKey, exact: true };
  await client.invalidateQueries(only, { cancelRefetch: false });
  if (isUnderWay) await client.invalidateQueries(only, { cancelRefetch: false });
}
