// The values of a form that is not saved yet. They are stored for this tab, so that leaving the page by a wrong click, a
// reload or the back button does not lose them.
import { useState } from "react";

const STORAGE_PREFIX = "wakeful.draft.";

export interface Draft<T> {
  values: T;
  /** The values that differ from the saved ones. */
  changes: Partial<T>;
  isChanged: boolean;
  change: (changes: Partial<T>) => void;
  /** Returns to the saved values. Also called after saving. */
  discard: () => void;
}

/** A draft on top of the saved values. Only differences are stored, so that a value saved elsewhere is not reverted. */
export function useDraft<T extends object>(name: string, saved: T): Draft<T> {
  const key = STORAGE_PREFIX + name;
  const [stored, setStored] = useState<Partial<T>>(() => read(key));
  const changes = differences(saved, stored);
  const discard = () => {
    sessionStorage.removeItem(key);
    setStored({});
  };
  const change = (more: Partial<T>) => {
    setStored((before) => {
      const next = differences(saved, { ...before, ...more });
      store(key, next);
      return next;
    });
  };
  return {
    values: { ...saved, ...changes },
    changes,
    isChanged: Object.keys(changes).length > 0,
    change,
    discard,
  };
}

/** The fields of a draft that the form has and whose value is another than the saved one. */
export function differences<T extends object>(saved: T, draft: Partial<T>): Partial<T> {
  const fields = Object.keys(saved) as (keyof T)[];
  const differing = fields.filter(
    (field) => field in draft && JSON.stringify(draft[field]) !== JSON.stringify(saved[field]),
  );
  return Object.fromEntries(differing.map((field) => [field, draft[field]])) as Partial<T>;
}

function store(key: string, draft: object): void {
  try {
    if (Object.keys(draft).length === 0) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // The storage is full. The draft stays on the page, and only leaving it would lose it.
  }
}

function read<T>(key: string): Partial<T> {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "{}") as Partial<T>;
  } catch {
    return {};
  }
}
