import { expect, it } from "vitest";
import { type Entry, inFirstSeenOrder } from "./useFirstSeenOrder";

const rules = { idOf: (item: string) => item, isKept: (item: string) => item.startsWith("k") };
const after = (before: readonly Entry<string>[], ...items: string[]) => inFirstSeenOrder(before, items, rules);
const shown = (entries: readonly Entry<string>[]) => entries.map(({ id, isGone }) => (isGone ? `(${id})` : id));

it("keeps known items at their place and adds new ones at the end", () => {
  const first = after([], "a", "k1", "b");
  expect(shown(after(first, "new", "b", "k1", "a"))).toEqual(["a", "k1", "b", "new"]);
});

it("keeps the place of a gone item only where it is asked to", () => {
  const gone = after(after([], "a", "k1", "b"), "b");
  expect(shown(gone)).toEqual(["(k1)", "b"]);
  expect(shown(after(gone, "b", "k1", "a"))).toEqual(["k1", "b", "a"]);
});

it("returns the same list when nothing changed", () => {
  const first = after([], "a", "k1");
  expect(after(first, "k1", "a")).toBe(first);
});
