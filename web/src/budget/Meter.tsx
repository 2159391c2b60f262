import type { CapUsage } from "./money";

interface MeterProps {
  label: string;
  /** How much, in words: a bar tells nothing to those who listen. */
  text: string;
  percent: number;
  usage: CapUsage;
}

/** How much of a cap is gone. The words beside it say the same, so colour and length only help. */
export function Meter({ label, text, percent, usage }: MeterProps) {
  return (
    <div
      className={`meter ${usage}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={text}
    >
      <Bar percent={percent} />
    </div>
  );
}

/** A bar of a part of a hundred. Drawn, because a style in the markup is against the page's security policy. */
export function Bar({ percent }: { percent: number }) {
  return (
    <svg className="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect width={percent} height="1" />
    </svg>
  );
}
