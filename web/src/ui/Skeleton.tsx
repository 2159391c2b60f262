/** A placeholder of the size of the content that is loading. */
export function Skeleton({ lines, label }: { lines: number; label: string }) {
  return (
    <div className="skeleton" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} className={`skeleton-line w${index % 4}`} />
      ))}
    </div>
  );
}
