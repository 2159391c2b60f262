import { expect, it } from "vitest";
import { firstLine, formatBytes, joinList, oneLine, pluralize } from "./number";
import { toSentence } from "./sentence";

it("groups digits and pluralizes the noun", () => {
  expect([pluralize(1, "token"), pluralize(1_234_567, "token"), pluralize(0, "entry", "entries")]).toEqual([
    "1 token",
    "1,234,567 tokens",
    "0 entries",
  ]);
});

it("formats bytes in the unit that fits", () => {
  expect([1, 812, 3_072, 42_400, 1_240_000].map(formatBytes)).toEqual([
    "1 byte",
    "812 bytes",
    "3.1 kB",
    "42 kB",
    "1.2 MB",
  ]);
});

it("shortens to the first line with an ellipsis", () => {
  expect(firstLine("  one line  ", 20)).toBe("one line");
  expect(firstLine("first\nsecond", 20)).toBe("first…");
  expect(firstLine("a rather long line", 8)).toBe("a rather…");
});

it("puts a text on one line", () => {
  expect([oneLine(" a\n  b ", 20), oneLine("a rather long text", 8)]).toEqual(["a b", "a rather…"]);
});

it("joins lists with commas and one and", () => {
  expect([joinList([]), joinList(["a"]), joinList(["a", "b"]), joinList(["a", "b", "c"])]).toEqual([
    "",
    "a",
    "a and b",
    "a, b and c",
  ]);
});

it("makes a sentence of a server message", () => {
  expect([toSentence("the key is wrong"), toSentence("Really?"), toSentence("")]).toEqual([
    "The key is wrong.",
    "Really?",
    "",
  ]);
});

it("a text on one line cannot reverse what follows it", () => {
  expect(oneLine("a\u202egnp.exe", 20)).toBe("a‹U+202E›gnp.exe");
});
