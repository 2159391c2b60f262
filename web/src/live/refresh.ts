// Fetches stale responses again, so that the page ends with a response to a request sent after the change.
import type { InvalidateQueryFilters, Query, QueryClient } from "@tanstack/react-query";

/**
 * Resolves when everything on the screen has been fetched again. A request that is already in progress may have read the
 * old state, so it is followed by another. It is not cancelled: with changes faster than responses, none would arrive.
 */
export async function refresh(client: QueryClient, which: InvalidateQueryFilters): Promise<void> {
  // Each on its own, so that a request without a response does not delay the others.
  await Promise.all(
    client
      .getQueryCache()
      .findAll(which)
      .map((query) => refreshOne(client, query)),
  );
}

async function refreshOne(client: QueryClient, { queryKey, state }: Query): Promise<void> {
  const isFetching = state.fetchStatus === "fetching";
  const only = { queryKey, exact: true };
  await client.invalidateQueries(only, { cancelRefetch: false });
  if (isFetching) await client.invalidateQueries(only, { cancelRefetch: false });
}
