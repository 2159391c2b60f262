// Everything that needs attention. The server decides what it is; events only say when to ask again.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { dismissRuns } from "../api/calls";
import { keys } from "../api/keys";
import { attentionQuery } from "../api/queries";
import { shownItems } from "./attention";

export function useAttention() {
  const client = useQueryClient();
  const attention = useQuery(attentionQuery);
  const dismissing = useMutation({
    mutationFn: (runKeys: readonly string[]) => dismissRuns([...runKeys]),
    onSuccess: (list) => client.setQueryData(keys.attention(), list),
  });
  const items = useMemo(() => shownItems(attention.data?.items ?? []), [attention.data]);
  return {
    items,
    /** Items beyond the server's limit. */
    more: attention.data?.more ?? 0,
    dismiss: (runKeys: readonly string[]) => dismissing.mutate(runKeys),
    dismissError: dismissing.error,
    /** Whether the list is loaded; only then is an empty list the truth. */
    isComplete: attention.data !== undefined,
    /** The request, if it failed. */
    failed: attention.error && !attention.data ? attention : undefined,
  };
}
