import type { ReactNode } from "react";
import type { Tone } from "../run/text";

/** A short status with a tone. The text alone has the meaning; the color repeats it. */
export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
