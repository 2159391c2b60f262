import { formatAgo, formatExact, formatUntil } from "../text/time";
import { useNow } from "../text/useNow";

/** A moment as people say it; the exact one is a hover (or a long press) away. */
export function Time({ at, isFuture = false }: { at: string; isFuture?: boolean }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatExact(at)}>
      {isFuture ? formatUntil(at, now) : formatAgo(at, now)}
    </time>
  );
}
