// Keeps a list in the order in which its items were first seen, so that nothing moves under the pointer.
import { useState } from "react";

export interface Entry<T> {
  id: string;
  item: T;
  /** Whether the item has left the list and only its place is kept. */
  isGone: boolean;
}

interface ListRules<T> {
  idOf: (item: T) => string;
  /** Whether the place of an item is kept when the item leaves the list. */
  isKept: (item: T) => boolean;
}

/** Known items stay at their place with their newest content; new ones follow at the end. */
export function inFirstSeenOrder<T>(
  before: readonly Entry<T>[],
  items: readonly T[],
  { idOf, isKept }: ListRules<T>,
): readonly Entry<T>[] {
  const present = new Map(items.map((item) => [idOf(item), item]));
  const known = before.flatMap((entry): Entry<T>[] => {
    const item = present.get(entry.id);
    present.delete(entry.id);
    if (item !== undefined) return [{ id: entry.id, item, isGone: false }];
    return isKept(entry.item) ? [{ ...entry, isGone: true }] : [];
  });
  const added = [...present].map(([id, item]): Entry<T> => ({ id, item, isGone: false }));
  const after = [...known, ...added];
  return isSame(before, after) ? before : after;
}

function isSame<T>(before: readonly Entry<T>[], after: readonly Entry<T>[]): boolean {
  const isEqual = (one: Entry<T>, other: Entry<T> | undefined) =>
    one.id === other?.id && one.item === other.item && one.isGone === other.isGone;
  return before.length === after.length && before.every((entry, index) => isEqual(entry, after[index]));
}

/** The entries of a list, from the first render of the component to its end. */
export function useFirstSeenOrder<T>(items: readonly T[], rules: ListRules<T>) {
  const [before, setEntries] = useState<readonly Entry<T>[]>([]);
  const entries = inFirstSeenOrder(before, items, rules);
  if (entries !== before) setEntries(entries);
  /** Gives up the place of an item that is gone. */
  const remove = (id: string) => setEntries((now) => now.filter((entry) => entry.id !== id));
  return { entries, remove };
}
