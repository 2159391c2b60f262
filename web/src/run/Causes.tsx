import { labels } from "../labels";

/** The chain of errors behind a failure, outermost first. */
export function Causes({ causes }: { causes: readonly string[] }) {
  if (causes.length === 0) return null;
  return (
    <ol className="chain" aria-label={labels.run.causes}>
      {causes.map((cause, index) => (
        <li key={index}>{cause}</li>
      ))}
    </ol>
  );
}
