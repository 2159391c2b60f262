import type { ReactNode } from "react";
import type { Tone } from "../run/text";

/** A few words with a tone. The words carry the meaning; the colour only helps. */
export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
