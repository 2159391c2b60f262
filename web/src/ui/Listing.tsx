import type { ReactNode } from "react";
import { ErrorNotice } from "./ErrorNotice";
import { Icon, type IconName } from "./Icon";
import { Skeleton } from "./Skeleton";

interface ListingProps<T> {
  list: { data: readonly T[] | undefined; error: unknown; refetch: () => unknown };
  /** The action, as the end of "Could not …". */
  action: string;
  loading: string;
  /** What an empty list shows. */
  icon: IconName;
  none: string;
  noneHint: ReactNode;
  /** The list itself, when it has entries. */
  children: (entries: readonly T[]) => ReactNode;
}

/** A list while it loads, when it failed to load, when it is empty, and when it is not. */
export function Listing<T>({ list, action, loading, icon, none, noneHint, children }: ListingProps<T>) {
  if (!list.data) {
    if (list.error) return <ErrorNotice action={action} error={list.error} onRetry={list.refetch} />;
    return <Skeleton lines={8} label={loading} />;
  }
  if (list.data.length > 0) return children(list.data);
  return (
    <div className="empty panel">
      <Icon name={icon} />
      <p className="empty-title">{none}</p>
      <p>{noneHint}</p>
    </div>
  );
}
