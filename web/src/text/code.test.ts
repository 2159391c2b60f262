import { expect, it } from "vitest";
import { COLORED_CHARS_MAX, tokenizeCode } from "./code";

/** The tokens that have a color, each as its kind and text. */
const colored = (text: string, language: string) =>
  tokenizeCode(text, language).flatMap((token) => (token.kind ? [`${token.kind}: ${token.text}`] : []));

it.each([
  [
    "sh",
    'if test -f "$HOME/x#y"; then # why\n',
    ["keyword: if", 'string: "$HOME/x#y"', "keyword: then", "comment: # why"],
  ],
  ["rust", "fn f<'a>(c: &'a str) { 'x' } // 1", ["keyword: fn", "string: 'x'", "comment: // 1"]],
  ["ts", "const n = 0x1f; /* a\nb */ `t$`", ["keyword: const", "number: 0x1f", "comment: /* a\nb */", "string: `t$`"]],
  ["python", 'def f(): """doc\n""" # end', ["keyword: def", 'string: """doc\n"""', "comment: # end"]],
  ["json", '{"a": [1, true]}', ['string: "a"', "number: 1", "keyword: true"]],
  ["toml", "a = 1 # b", ["number: 1", "comment: # b"]],
  ["yaml", "a: 'x' # b", ["string: 'x'", "comment: # b"]],
  ["sql", "SELECT 'it' -- all", ["keyword: SELECT", "string: 'it'", "comment: -- all"]],
  ["go", "func f() { return nil }", ["keyword: func", "keyword: return", "keyword: nil"]],
  ["diff", "@@ -1 +1 @@\n-old\n+new\n same", ["comment: @@ -1 +1 @@\n", "removed: -old\n", "added: +new\n"]],
])("colors %s", (language, text, tokens) => {
  expect(colored(text, language)).toEqual(tokens);
  expect(
    tokenizeCode(text, language)
      .map((token) => token.text)
      .join(""),
  ).toBe(text);
});

it("leaves an unknown language and long code without colors", () => {
  expect(tokenizeCode("if x", "constructor")).toEqual([{ text: "if x" }]);
  const long = "if ".repeat(COLORED_CHARS_MAX);
  expect(tokenizeCode(long, "sh")).toEqual([{ text: long }]);
});

it("colors unclosed strings and comments in linear time", () => {
  const start = performance.now();
  for (const language of ["ts", "rust", "python", "sh", "sql", "toml"])
    for (const part of ['"', "'", "`", "/*", '"""', 'r#"', "\\", "a1."]) tokenizeCode(part.repeat(10_000), language);
  expect(performance.now() - start).toBeLessThan(2_000);
});
