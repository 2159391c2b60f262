// Splits source code into comments, strings, numbers and keywords, for colors. It knows families of languages and not
// their grammars: a wrong color is harmless, so the rules are few.

export type CodeKind = "comment" | "string" | "number" | "keyword" | "added" | "removed";

export interface CodeToken {
  /** Absent for everything else. */
  kind?: CodeKind;
  text: string;
}

/** Longer code has no colors: each token is an element of the page. */
export const COLORED_CHARS_MAX = 50_000;

interface Family {
  /** Matches one token: a comment, a string, a number or a word, in groups of these names. */
  token: RegExp;
  keywords: ReadonlySet<string>;
}

const words = (list: string) => new Set(list.split(" "));

const DOUBLE = String.raw`"(?:[^"\\\n]|\\.)*"?`;
const SINGLE = String.raw`'(?:[^'\\\n]|\\.)*'?`;
const REST = String.raw`(?<number>\b\d[\w.]*)|(?<word>[\p{L}_$][\p{L}\p{N}_$]*)`;
const family = (comment: string, string: string, keywords: string): Family => ({
  token: new RegExp(`(?<comment>${comment})|(?<string>${string})|${REST}`, "gu"),
  keywords: words(keywords),
});

const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const HASH = String.raw`#[^\n]*`;

const script = family(
  SLASHES,
  `${DOUBLE}|${SINGLE}|\`(?:[^\`\\\\]|\\\\[^])*\`?`,
  "abstract as async await break case catch class const continue declare default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of private protected public readonly return static super switch this throw true try type typeof undefined var void while yield",
);
const rust = family(
  SLASHES,
  String.raw`b?r#+"[^]*?(?:"#|$)|b?${DOUBLE}|b?'(?:\\[^\n']{1,10}|[^\\'\n])'`,
  "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return Self self static struct super trait true type unsafe use where while",
);
const go = family(
  SLASHES,
  `${DOUBLE}|${SINGLE}|\`[^\`]*\`?`,
  "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var",
);
const python = family(
  HASH,
  `"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${DOUBLE}|${SINGLE}`,
  "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return self True try while with yield",
);
const shell = family(
  // In the middle of a word, a hash does not start a comment.
  String.raw`(?<![^\s;&|(])#[^\n]*`,
  String.raw`"(?:[^"\\]|\\[^])*"?|'[^']*'?`,
  "case do done elif else esac exit export fi for function if in local return set shift source then until while cd echo sudo",
);
const config = family(HASH, `"""[^]*?(?:"""|$)|${DOUBLE}|${SINGLE}`, "true false null yes no on off");
const json = family(SLASHES, DOUBLE, "true false null");
const sql = family(
  String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  `'[^']*'?|${DOUBLE}`,
  "add all alter and as asc begin between by case check column commit constraint create default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null on or order outer primary references returning right rollback select set strict table then transaction union unique update using values view when where with",
);

const FAMILIES: Record<string, Family> = {
  bash: shell,
  c: script,
  console: shell,
  cpp: script,
  css: script,
  go,
  golang: go,
  java: script,
  javascript: script,
  js: script,
  json,
  json5: json,
  jsonc: json,
  jsx: script,
  py: python,
  python,
  rs: rust,
  rust,
  sh: shell,
  shell,
  sql,
  toml: config,
  ts: script,
  tsx: script,
  typescript: script,
  yaml: config,
  yml: config,
  zsh: shell,
};

/** The tokens of a code block; one without a kind when the language is unknown or the code is long. */
export function tokenizeCode(text: string, language: string): CodeToken[] {
  if (text === "" || text.length > COLORED_CHARS_MAX) return [{ text }];
  if (language === "diff" || language === "patch") return diffTokens(text);
  const known = Object.hasOwn(FAMILIES, language) ? FAMILIES[language] : undefined;
  return known ? tokens(text, known) : [{ text }];
}

function tokens(text: string, known: Family): CodeToken[] {
  const { token, keywords } = known;
  const found: CodeToken[] = [];
  let from = 0;
  for (const { 0: whole, index, groups = {} } of text.matchAll(token)) {
    const kind = kindOf(groups, (word) => keywords.has(known === sql ? word.toLowerCase() : word));
    if (!kind) continue;
    if (index > from) found.push({ text: text.slice(from, index) });
    found.push({ kind, text: whole });
    from = index + whole.length;
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

function kindOf(
  groups: Record<string, string | undefined>,
  isKeyword: (word: string) => boolean,
): CodeKind | undefined {
  if (groups.comment !== undefined) return "comment";
  if (groups.string !== undefined) return "string";
  if (groups.number !== undefined) return "number";
  return isKeyword(groups.word ?? "") ? "keyword" : undefined;
}

/** A line of a diff is added, removed, a position, or context. */
function diffTokens(text: string): CodeToken[] {
  return text.split(/(?<=\n)/).map((line): CodeToken => {
    if (/^(?:@@|diff |index |\+\+\+|---)/.test(line)) return { kind: "comment", text: line };
    if (line.startsWith("+")) return { kind: "added", text: line };
    return line.startsWith("-") ? { kind: "removed", text: line } : { text: line };
  });
}
