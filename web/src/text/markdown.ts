// Parses Markdown into blocks: paragraphs, headings, lists, tables, quotations, code and rules. HTML is not supported, so text
// that looks like HTML stays text. Nesting is bounded, so the time grows with the length of the text alone.
import { type Inline, parseInlines } from "./inline";

export type Align = "left" | "center" | "right" | undefined;

export interface ListItem {
  /** Whether a task is done; undefined when the item is not a task. */
  isDone?: boolean;
  blocks: TextBlock[];
}

export type TextBlock =
  | { kind: "paragraph" | "heading"; inlines: Inline[] }
  | { kind: "list"; isOrdered: boolean; start: number; items: ListItem[] }
  | { kind: "code"; text: string; language: string }
  | { kind: "quote"; blocks: TextBlock[] }
  | { kind: "table"; aligns: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** A longer text is shown as it is: rendering it would block the page. */
export const MARKDOWN_CHARS_MAX = 200_000;

/** Lists and quotations inside each other; deeper ones are text. */
const DEPTH_MAX = 8;

/** The columns of a table; further cells are left to the last one. */
const COLUMNS_MAX = 32;

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(?:\s+|$)/;
const UNDERLINE = /^ {0,3}(?:=+|-{2,})\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s*)(?:([-*+•])|(\d{1,9})[.)])(?:\s+|$)/;
const TASK = /^\[([ xX])\]\s+/;
const ALIGN = /^\s*(:?)-+(:?)\s*$/;

export function parseMarkdown(text: string): TextBlock[] {
  return parseBlocks(text.split("\n"), 0);
}

function parseBlocks(lines: readonly string[], depth: number): TextBlock[] {
  const blocks: TextBlock[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] as string;
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const { block, next } = parseBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

interface Parsed {
  block: TextBlock;
  /** The line after the block. */
  next: number;
}

function parseBlock(lines: readonly string[], at: number, depth: number): Parsed {
  const line = lines[at] as string;
  if (isFence(line)) return parseCode(lines, at);
  if (HEADING.test(line)) {
    const inlines = parseInlines(line.replace(HEADING, "").replace(/\s#+\s*$/, ""));
    return { block: { kind: "heading", inlines }, next: at + 1 };
  }
  if (RULE.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (isTable(lines, at)) return parseTable(lines, at);
  if (depth < DEPTH_MAX && QUOTE.test(line)) return parseQuote(lines, at, depth);
  if (depth < DEPTH_MAX && ITEM.test(line)) return parseList(lines, at, depth);
  return parseParagraph(lines, at, depth);
}

/** A line that starts a code block. Backticks after its mark are code inside a line instead. */
function isFence(line: string): boolean {
  const [whole, mark] = FENCE.exec(line) ?? [];
  return whole !== undefined && !(mark?.startsWith("`") && line.includes("`", whole.length));
}

function parseCode(lines: readonly string[], at: number): Parsed {
  const [whole, mark] = FENCE.exec(lines[at] as string) as RegExpExecArray as unknown as [string, string];
  const [language = ""] = (lines[at] as string).slice(whole.length).trim().split(/\s/, 1);
  const isEnd = (line: string) => {
    const own = line.trim();
    return own.startsWith(mark) && own === (mark[0] as string).repeat(own.length);
  };
  let next = at + 1;
  while (next < lines.length && !isEnd(lines[next] as string)) next += 1;
  const text = lines.slice(at + 1, next).join("\n");
  return { block: { kind: "code", text, language: language.toLowerCase() }, next: next + 1 };
}

function isTable(lines: readonly string[], at: number): boolean {
  const [head = "", rule = ""] = [lines[at], lines[at + 1]];
  if (!head.includes("|") || !rule.includes("-")) return false;
  const cells = cellsOf(rule);
  return cells.every((cell) => ALIGN.test(cell)) && cells.length === cellsOf(head).length;
}

function parseTable(lines: readonly string[], at: number): Parsed {
  const aligns = cellsOf(lines[at + 1] as string).map((cell): Align => {
    const [, left, right] = ALIGN.exec(cell) ?? [];
    return left && right ? "center" : right ? "right" : left ? "left" : undefined;
  });
  const toRow = (line: string) => {
    const cells = cellsOf(line);
    return aligns.map((_, column) => parseInlines((cells[column] ?? "").trim()));
  };
  let next = at + 2;
  while (next < lines.length && (lines[next] as string).includes("|")) next += 1;
  const rows = lines.slice(at + 2, next).map(toRow);
  return { block: { kind: "table", aligns, head: toRow(lines[at] as string), rows }, next };
}

/** The cells of a row. A pipe after a backslash belongs to its cell. */
function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/, COLUMNS_MAX).map((cell) => cell.replaceAll("\\|", "|"));
}

function parseQuote(lines: readonly string[], at: number, depth: number): Parsed {
  let next = at;
  while (next < lines.length && QUOTE.test(lines[next] as string)) next += 1;
  const inner = lines.slice(at, next).map((line) => line.replace(QUOTE, ""));
  return { block: { kind: "quote", blocks: parseBlocks(inner, depth + 1) }, next };
}

function parseList(lines: readonly string[], at: number, depth: number): Parsed {
  const [, , bullet, number] = ITEM.exec(lines[at] as string) as RegExpExecArray;
  const isSame = (line: string) => {
    const match = ITEM.exec(line);
    return match !== null && !RULE.test(line) && (match[3] === undefined) === (number === undefined);
  };
  const items: ListItem[] = [];
  let next = at;
  while (next < lines.length && isSame(lines[next] as string)) {
    const item = parseItem(lines, next, depth);
    items.push(item.item);
    next = item.next;
  }
  const block: TextBlock = { kind: "list", isOrdered: bullet === undefined, start: Number(number ?? 1), items };
  return { block, next };
}

/** An item with the lines below it that are indented more than its mark. */
function parseItem(lines: readonly string[], at: number, depth: number): { item: ListItem; next: number } {
  const line = lines[at] as string;
  const [mark, indent] = ITEM.exec(line) as RegExpExecArray;
  const edge = (indent as string).length;
  let next = at + 1;
  let isAfterBlank = false;
  for (; next < lines.length; next += 1) {
    const one = lines[next] as string;
    const isBlank = one.trim() === "";
    const isDeeper = indentOf(one) > edge;
    // A line of the paragraph may start at the edge, unless it starts something else.
    if (!isBlank && !isDeeper && (isAfterBlank || isStart(one))) break;
    isAfterBlank = isBlank;
  }
  // Blank lines at the end separate this item from what follows.
  while ((lines[next - 1] as string).trim() === "") next -= 1;
  const inner = lines.slice(at + 1, next);
  const width = inner.reduce(
    (least, one) => (indentOf(one) > edge ? Math.min(least, indentOf(one)) : least),
    mark.length,
  );
  const first = line.slice(mark.length);
  const task = TASK.exec(first);
  const own = [task ? first.slice(task[0].length) : first, ...inner.map((one) => dedent(one, width))];
  const item: ListItem = { blocks: parseBlocks(own, depth + 1) };
  if (task) item.isDone = task[1] !== " ";
  return { item, next: skipBlanks(lines, next) };
}

/** Skips blank lines between two items, and stays before them at the end of the list. */
function skipBlanks(lines: readonly string[], from: number): number {
  let next = from;
  while (next < lines.length && (lines[next] as string).trim() === "") next += 1;
  return next < lines.length && ITEM.test(lines[next] as string) ? next : from;
}

const indentOf = (line: string) => line.length - line.trimStart().length;
const dedent = (line: string, width: number) => line.slice(Math.min(width, indentOf(line)));

function isStart(line: string): boolean {
  return isFence(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

function parseParagraph(lines: readonly string[], at: number, depth: number): Parsed {
  let next = at + 1;
  const isOwn = (line: string) =>
    line.trim() !== "" && !(depth < DEPTH_MAX && isStart(line)) && !UNDERLINE.test(line) && !isTable(lines, next);
  while (next < lines.length && isOwn(lines[next] as string)) next += 1;
  const inlines = parseInlines(lines.slice(at, next).map(toLine).join("\n"));
  if (next < lines.length && UNDERLINE.test(lines[next] as string))
    return { block: { kind: "heading", inlines }, next: next + 1 };
  return { block: { kind: "paragraph", inlines }, next };
}

/** A line of a paragraph. Line breaks are kept anyway, so marks for them are removed. */
function toLine(line: string): string {
  return line.trim().replace(/\\$/, "");
}
