import { expect, it } from "vitest";
import { outputText, visibleText } from "./visible";

it.each([
  ["plain\ttext\nand more", "plain\ttext\nand more"],
  ["rm \u202e-rf", "rm ‹U+202E›-rf"],
  ["a\u0000b\u001b[31mc", "a␀b␛[31mc"],
  ["ro\u200bot", "ro‹U+200B›ot"],
  ["x\u007f\u0085", "x␡‹U+0085›"],
  ["\u{e0041}", "‹U+E0041›"],
  ["line\r\nnext\rover", "line\nnext␍over"],
  ["👩‍🚀 שלום", "👩‍🚀 שלום"],
])("shows %j as %j", (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it("removes the escape sequences of output", () => {
  expect(outputText("\u001b[1;32mok\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007\r10%\r20%\n")).toBe(
    "ok link\n10%\n20%\n",
  );
  expect(outputText("half \u001b")).toBe("half ␛");
});
