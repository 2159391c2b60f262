// Everything that needs attention, from the three requests and the events that report it.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { decisionsQuery, quarantinedQuery, runtimeQuery } from "../api/queries";
import type { Event } from "../api/types";
import { attentionItems, storeDismissed, storedDismissed } from "./attention";

export function useAttention(events: readonly Event[]) {
  const runtime = useQuery(runtimeQuery);
  const decisions = useQuery(decisionsQuery);
  const quarantined = useQuery(quarantinedQuery);
  const [dismissed, setDismissed] = useState(storedDismissed);

  const items = useMemo(() => {
    const server = { decisions: decisions.data ?? [], quarantined: quarantined.data ?? [] };
    return attentionItems(runtime.data?.stuck ?? [], events, dismissed, server);
  }, [runtime.data, events, dismissed, decisions.data, quarantined.data]);
  const dismiss = (ids: readonly string[]) => {
    const next = new Set([...dismissed, ...ids]);
    storeDismissed(next);
    setDismissed(next);
  };
  const sources = [runtime, decisions, quarantined];
  return {
    items,
    dismiss,
    /** Whether every source is loaded; only then is an empty list the truth. */
    isComplete: sources.every((one) => one.data),
    /** A source that could not be loaded. */
    failed: sources.find((one) => one.error && !one.data),
  };
}
