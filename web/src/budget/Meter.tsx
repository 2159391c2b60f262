import type { CapUsage } from "./money";

interface MeterProps {
  label: string;
  /** The amount as text, for screen readers. */
  text: string;
  percent: number;
  usage: CapUsage;
}

/** How much of a cap is used. The text beside it says the same. */
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

/** A bar of a percentage. An SVG, because the security policy of the page forbids inline styles. */
export function Bar({ percent }: { percent: number }) {
  return (
    <svg className="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect width={percent} height="1" />
    </svg>
  );
}
