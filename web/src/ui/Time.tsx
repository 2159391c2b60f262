import { exact, when } from "../text/time";
import { useNow } from "../text/useNow";

/** A moment as people say it; the exact one is a hover (or a long press) away. */
export function Time({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)}>
      {when(at, now)}
    </time>
  );
}
