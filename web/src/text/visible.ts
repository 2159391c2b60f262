// Makes characters visible that a reader cannot see but that change what is shown: escape sequences of terminals, control
// characters, and marks that reverse the order of text.

/** Control characters except tab and line feed, marks that reorder text, and characters without width. */
const INVISIBLE = /(?![\t\n])[\p{Cc}\u00ad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

const [ESCAPE, BELL] = ["\u001b", "\u0007"];

/** Escape sequences of terminals: colors and cursor movement, titles and links, and short ones. */
const ESCAPES = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)|[@-Z\\\\-_])`,
  "g",
);

const PICTURES = 0x2400;
const DELETE = 0x7f;

/** A text in which every invisible character is replaced by a visible one. Nothing is left out. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(INVISIBLE, (char) => {
    const code = char.codePointAt(0) as number;
    if (code < 0x20) return String.fromCodePoint(PICTURES + code);
    if (code === DELETE) return "␡";
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

/** The output of a program as text: without the escape sequences that only a terminal understands. */
export function outputText(text: string): string {
  return visibleText(text.replaceAll(ESCAPES, "").replaceAll(/\r+(?!\n)/g, "\n"));
}
