import { expect, it } from "vitest";
import { previewText } from "./preview";

it.each([
  ["Write a **report** about `garden`", "Write a report about garden"],
  ["# Plan\n\n- one\n- [two](https://example.org)", "Plan one two"],
  ["rm \u202efdp.exe", "rm ‹U+202E›fdp.exe"],
  ["**".repeat(100), `${"**".repeat(20)}…`],
  ["word ".repeat(30), "word word word word word word word word…"],
])("shortens %j to %j", (text, line) => {
  expect(previewText(text, 40)).toBe(line);
});
