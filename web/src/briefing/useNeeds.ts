// What waits for a person, from everywhere where it can be known.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { decisionsQuery, quarantinedQuery, runtimeQuery } from "../api/queries";
import type { Event } from "../api/types";
import { needs, storedHandled, storeHandled } from "./needs";

export function useNeeds(events: readonly Event[]) {
  const runtime = useQuery(runtimeQuery);
  const decisions = useQuery(decisionsQuery);
  const quarantined = useQuery(quarantinedQuery);
  const [handled, setHandled] = useState(storedHandled);

  const waiting = useMemo(() => {
    const kept = { decisions: decisions.data ?? [], quarantined: quarantined.data ?? [] };
    return needs(runtime.data?.stuck ?? [], events, handled, kept);
  }, [runtime.data, events, handled, decisions.data, quarantined.data]);
  const handle = (ids: readonly string[]) => {
    const next = new Set([...handled, ...ids]);
    storeHandled(next);
    setHandled(next);
  };
  const sources = [runtime, decisions, quarantined];
  return {
    waiting,
    handle,
    /** Calm is said only by who has looked everywhere. */
    isComplete: sources.every((one) => one.data),
    /** What could not be read at all. */
    failed: sources.find((one) => one.error && !one.data),
  };
}
