import { type ReactNode, Suspense } from "react";
import { labels } from "../labels";
import { Skeleton } from "../ui/Skeleton";
import { useTitle } from "./useTitle";

interface SectionProps {
  title: string;
  lede?: string;
  /** Links to the pages beside this one. */
  navigation?: ReactNode;
  children: ReactNode;
}

/** A page whose code is loaded when it is opened. Its heading is there at once, so that it receives the focus. */
export function Section({ title, lede, navigation, children }: SectionProps) {
  useTitle(title);
  return (
    <div className="section">
      <div className="page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {lede && <p className="lede">{lede}</p>}
      </div>
      {navigation}
      <Suspense fallback={<Skeleton lines={8} label={labels.common.fetching} />}>{children}</Suspense>
    </div>
  );
}
