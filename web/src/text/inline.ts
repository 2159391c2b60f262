// Parses what can stand inside a line of Markdown. One pass from left to right; each character is looked at a bounded
// number of times.
import { LINK_CHARS_MAX, type SafeLink, safeLink } from "./link";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "strike"; inlines: Inline[] }
  | { kind: "link"; link: SafeLink; inlines: Inline[] };

/** Marks that are open at the same time; further ones are text. */
const DEPTH_MAX = 12;

/** Parentheses inside the address of a link. */
const PARENTHESES_MAX = 8;

/** A mark that may be closed later, and what follows it so far. */
interface Frame {
  mark: string;
  inlines: Inline[];
  /** A link cannot contain another link. */
  isDead?: boolean;
}

const KINDS: Record<string, "strong" | "emphasis" | "strike"> = {
  "*": "emphasis",
  _: "emphasis",
  "**": "strong",
  __: "strong",
  "~~": "strike",
};

/** The places at which something else than text can begin. */
const TOKEN =
  /\\[!-/:-@[-`{-~]|`+|\*+|_+|~~|!?\[|\]|<br\s{0,2}\/?>|<[a-z]+:[^\s<>]{1,2048}>|https?:\/\/[^\s<>`[\]]{1,2048}/gi;

/** Characters after a bare address that belong to the sentence around it. */
const TRAILING = /[.,:;!?'"*_~)\]}>]$/;

export function parseInlines(text: string): Inline[] {
  return new InlineParser(text).parse();
}

/** The text alone, without its marks. */
export function plainText(inlines: readonly Inline[]): string {
  return inlines.map((one) => ("text" in one ? one.text : plainText(one.inlines))).join("");
}

class InlineParser {
  private readonly root: Frame = { mark: "", inlines: [] };
  private readonly frames: Frame[] = [this.root];
  private at = 0;
  /** For each length of a run of backticks, where such runs start, and how many of them are passed. */
  private readonly ticks = new Map<number, { starts: number[]; passed: number }>();

  constructor(private readonly text: string) {
    for (const { 0: run, index } of text.matchAll(/`+/g)) {
      const known = this.ticks.get(run.length);
      if (known) known.starts.push(index);
      else this.ticks.set(run.length, { starts: [index], passed: 0 });
    }
  }

  parse(): Inline[] {
    const tokens = new RegExp(TOKEN);
    while (this.at < this.text.length) {
      tokens.lastIndex = this.at;
      const match = tokens.exec(this.text);
      if (!match) break;
      this.addText(this.text.slice(this.at, match.index));
      this.at = match.index;
      this.take(match[0]);
    }
    this.addText(this.text.slice(this.at));
    this.flattenAbove(0);
    return this.root.inlines;
  }

  private get top(): Frame {
    return this.frames.at(-1) as Frame;
  }

  private addText(text: string): void {
    if (text === "") return;
    const last = this.top.inlines.at(-1);
    if (last?.kind === "text") last.text += text;
    else this.top.inlines.push({ kind: "text", text });
  }

  private addAll(inlines: readonly Inline[]): void {
    for (const inline of inlines) {
      if (inline.kind === "text") this.addText(inline.text);
      else this.top.inlines.push(inline);
    }
  }

  private take(token: string): void {
    const first = token[0] as string;
    if (first === "\\") this.takeText(token.slice(1), 2);
    else if (first === "`") this.takeCode(token.length);
    else if (first === "*" || first === "_" || first === "~") this.takeMarks(first, token.length);
    else if (token === "[" || token === "![") this.takeOpening(token);
    else if (first === "]") this.takeClosing();
    else if (/^<br/i.test(token)) this.takeText("\n", token.length);
    else if (first === "<") this.takeAddress(token.slice(1, -1), token.length);
    else this.takeBareAddress(token);
  }

  private takeText(text: string, length: number): void {
    this.addText(text);
    this.at += length;
  }

  private takeCode(length: number): void {
    const runs = this.ticks.get(length);
    // Each run is passed once, so unclosed ones do not make the search quadratic.
    while (runs && (runs.starts[runs.passed] ?? Infinity) <= this.at) runs.passed += 1;
    const end = runs?.starts[runs.passed];
    if (end === undefined) {
      this.takeText("`".repeat(length), length);
      return;
    }
    const code = this.text.slice(this.at + length, end).replaceAll("\n", " ");
    const isPadded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
    this.top.inlines.push({ kind: "code", text: isPadded ? code.slice(1, -1) : code });
    this.at = end + length;
  }

  /** A run of `*`, `_` or `~~`: closes what is open, and opens the rest. */
  private takeMarks(char: string, length: number): void {
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[this.at + length] ?? " ";
    const isWordy = (one: string) => /[\p{L}\p{N}]/u.test(one);
    const isOpenable = !/\s/.test(after) && (isWordy(after) || !isWordy(before));
    const isClosable = !/\s/.test(before) && (isWordy(before) || !isWordy(after));
    const canOpen = isOpenable && (char !== "_" || !isWordy(before));
    const canClose = isClosable && (char !== "_" || !isWordy(after));
    this.at += length;
    let left = length;
    while (left > 0 && canClose) {
      const open = (fits: (length: number) => boolean) =>
        this.frames.findLastIndex(({ mark }) => mark[0] === char && fits(mark.length));
      const exact = left === 2 ? open((one) => one === 2) : -1;
      const place = exact > 0 ? exact : open((one) => one <= left);
      if (place < 1) break;
      left -= this.closeMark(place);
    }
    if (left > 0 && left <= 3 && canOpen) {
      for (const mark of left === 3 ? [char.repeat(2), char] : [char.repeat(left)]) this.open(mark);
    } else this.addText(char.repeat(left));
  }

  private closeMark(place: number): number {
    this.flattenAbove(place);
    const { mark, inlines } = this.frames.pop() as Frame;
    if (inlines.length === 0) this.addText(mark + mark);
    else this.top.inlines.push({ kind: KINDS[mark] as "strong", inlines });
    return mark.length;
  }

  private open(mark: string): void {
    if (this.frames.length > DEPTH_MAX) this.addText(mark);
    else this.frames.push({ mark, inlines: [] });
  }

  /** Turns the frames above a place into text: their marks were never closed. */
  private flattenAbove(place: number): void {
    while (this.frames.length > place + 1) {
      const { mark, inlines } = this.frames.pop() as Frame;
      this.addText(mark);
      this.addAll(inlines);
    }
  }

  private takeOpening(mark: string): void {
    this.at += mark.length;
    this.open(mark);
  }

  private takeClosing(): void {
    this.at += 1;
    const place = this.frames.findLastIndex(({ mark }) => mark.endsWith("["));
    const target = place < 1 || this.frames[place]?.isDead ? undefined : this.readTarget();
    if (!target) {
      // The bracket and what follows it are text.
      if (place > 0) this.flattenAbove(place - 1);
      this.addText("]");
      return;
    }
    this.flattenAbove(place);
    const { inlines } = this.frames.pop() as Frame;
    this.at = target.end;
    const shown: Inline[] = inlines.length > 0 ? inlines : [{ kind: "text", text: target.link.href }];
    this.top.inlines.push({ kind: "link", link: target.link, inlines: shown });
    for (const frame of this.frames) frame.isDead = true;
  }

  /** Reads `(address "title")` after the text of a link. */
  private readTarget(): { link: SafeLink; end: number } | undefined {
    if (this.text[this.at] !== "(") return undefined;
    const slice = this.text.slice(this.at + 1, this.at + 1 + LINK_CHARS_MAX);
    let depth = 0;
    let length = 0;
    for (; length < slice.length; length += 1) {
      const char = slice[length] as string;
      if (/\s/.test(char) || (char === ")" && depth === 0)) break;
      if (char === "(") depth += 1;
      if (char === ")") depth -= 1;
      if (depth > PARENTHESES_MAX) return undefined;
    }
    const title = /^(?:\s+(?:"[^"\n]{0,200}"|'[^'\n]{0,200}'))?\s{0,8}\)/.exec(slice.slice(length));
    const link = title && safeLink(slice.slice(0, length).replace(/^<(.*)>$/, "$1"));
    return link ? { link, end: this.at + 1 + length + title[0].length } : undefined;
  }

  private takeAddress(address: string, length: number): void {
    const link = this.isInLink() ? undefined : safeLink(address);
    if (!link) {
      this.takeText(this.text.slice(this.at, this.at + length), length);
      return;
    }
    this.top.inlines.push({ kind: "link", link, inlines: [{ kind: "text", text: address.replace(/^mailto:/i, "") }] });
    this.at += length;
  }

  private takeBareAddress(token: string): void {
    let address = token;
    while (TRAILING.test(address) && !(address.endsWith(")") && address.includes("("))) address = address.slice(0, -1);
    this.takeAddress(address, address.length);
  }

  private isInLink(): boolean {
    return this.frames.some(({ mark, isDead }) => mark.endsWith("[") && !isDead);
  }
}
