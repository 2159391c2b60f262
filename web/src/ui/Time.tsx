import { ago, exact, until } from "../text/time";
import { useNow } from "../text/useNow";

/** A moment as people say it; the exact one is a hover (or a long press) away. */
export function Time({ at, isToCome = false }: { at: string; isToCome?: boolean }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)}>
      {isToCome ? until(at, now) : ago(at, now)}
    </time>
  );
}
