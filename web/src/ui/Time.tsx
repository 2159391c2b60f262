import { formatAgo, formatExact, formatUntil } from "../text/time";
import { useNow } from "../text/useNow";

/** A relative time; the exact time is its tooltip. */
export function Time({ at, isFuture = false }: { at: string; isFuture?: boolean }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatExact(at)}>
      {isFuture ? formatUntil(at, now) : formatAgo(at, now)}
    </time>
  );
}
