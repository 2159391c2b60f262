// The start of a longer text, where there is room for one line only.
import { parseInlines, plainText } from "./inline";
import { oneLine } from "./number";
import { visibleText } from "./visible";

/** The marks at the start of a line: headings, lists and quotations. */
const LINE_MARKS = /^\s*(?:#{1,6}|[-*+>]|\d{1,9}[.)])\s+/gm;

/** A text on one line, without its Markdown, shortened with an ellipsis. */
export function previewText(text: string, charsMax: number): string {
  // Marks are shorter than the text between them, so twice the length is enough.
  const start = visibleText(text.slice(0, charsMax * 2));
  const isCut = text.length > charsMax * 2;
  const line = oneLine(plainText(parseInlines(start.replaceAll(LINE_MARKS, ""))), charsMax);
  return isCut && !line.endsWith("…") ? `${line}…` : line;
}
