import { expect, it } from "vitest";
import { parseMarkdown, type TextBlock } from "./markdown";

const text = (shown: string) => [{ kind: "text", text: shown }];
const paragraph = (shown: string) => ({ kind: "paragraph", inlines: text(shown) });
const item = (shown: string, ...blocks: unknown[]) => ({ blocks: [paragraph(shown), ...blocks] });

it("parses paragraphs, headings, lists, rules and fenced code", () => {
  expect(
    parseMarkdown(
      "# Report #\nAll is well.\nReally.\n\nBelow\n---\n\n- one\n- two\n1. first\n```sh x\nls -la\n\nrm x\n```\n***\nend",
    ),
  ).toEqual([
    { kind: "heading", inlines: text("Report") },
    paragraph("All is well.\nReally."),
    { kind: "heading", inlines: text("Below") },
    { kind: "list", isOrdered: false, start: 1, items: [item("one"), item("two")] },
    { kind: "list", isOrdered: true, start: 1, items: [item("first")] },
    { kind: "code", text: "ls -la\n\nrm x", language: "sh" },
    { kind: "rule" },
    paragraph("end"),
  ]);
});

it("nests lists, tasks, code and quotations", () => {
  const list = (...items: unknown[]) => ({ kind: "list", isOrdered: false, start: 1, items });
  expect(
    parseMarkdown("3. one\n   - [x] in\n     ```\n       deep\n     ```\n   - [ ] out\n\n   more\n4. two"),
  ).toEqual([
    {
      kind: "list",
      isOrdered: true,
      start: 3,
      items: [
        item(
          "one",
          list(
            { isDone: true, blocks: [paragraph("in"), { kind: "code", text: "  deep", language: "" }] },
            { isDone: false, blocks: [paragraph("out")] },
          ),
          paragraph("more"),
        ),
        item("two"),
      ],
    },
  ]);
  expect(parseMarkdown("> said\n> > before\n> - x\nafter")).toEqual([
    { kind: "quote", blocks: [paragraph("said"), { kind: "quote", blocks: [paragraph("before")] }, list(item("x"))] },
    paragraph("after"),
  ]);
});

it("parses a table with its alignment, and only with its rule", () => {
  expect(parseMarkdown("| a | b\\|c |\n|:--|--:|\n| 1 |\n| `x` | 2 | 3 |")).toEqual([
    {
      kind: "table",
      aligns: ["left", "right"],
      head: [text("a"), text("b|c")],
      rows: [
        [text("1"), []],
        [[{ kind: "code", text: "x" }], text("2")],
      ],
    },
  ]);
  expect(parseMarkdown("a | b\nc | d")).toEqual([paragraph("a | b\nc | d")]);
});

it("parses marks inside a line", () => {
  const link = { href: "https://example.org/a", target: "example.org" };
  const cases: [string, unknown[]][] = [
    ["Use `` a`b `` **now**", [...text("Use "), { kind: "code", text: "a`b" }, ...text(" "), strong("now")]],
    ["***both***", [{ kind: "strong", inlines: [{ kind: "emphasis", inlines: text("both") }] }]],
    ["*a **b***", [{ kind: "emphasis", inlines: [...text("a "), strong("b")] }]],
    [
      "~~old~~ snake_case_name 2 * 3 * 4",
      [{ kind: "strike", inlines: text("old") }, ...text(" snake_case_name 2 * 3 * 4")],
    ],
    [
      "see [docs](https://example.org/a 'A').",
      [...text("see "), { kind: "link", link, inlines: text("docs") }, ...text(".")],
    ],
    [
      "(https://example.org/a).",
      [...text("("), { kind: "link", link, inlines: text("https://example.org/a") }, ...text(").")],
    ],
    ["![map](https://example.org/a)", [{ kind: "link", link, inlines: text("map") }]],
    ["\\*not\\* **open", text("*not* **open")],
    ["a<br>b", text("a\nb")],
  ];
  for (const [source, inlines] of cases)
    expect(parseMarkdown(source), source).toEqual([{ kind: "paragraph", inlines }]);
});

it("an unclosed fence ends with the text", () => {
  expect(parseMarkdown("~~~\nhalf")).toEqual([{ kind: "code", text: "half", language: "" }]);
});

it("nests to a bounded depth", () => {
  const depth = (block: TextBlock | undefined): number =>
    block?.kind === "quote"
      ? 1 + depth(block.blocks[0])
      : block?.kind === "list"
        ? 1 + depth(block.items[0]?.blocks[0])
        : 0;
  expect(depth(parseMarkdown("> ".repeat(200))[0])).toBe(8);
  expect(depth(parseMarkdown("- ".repeat(200))[0])).toBeLessThanOrEqual(8);
});

it.each([
  ["marks", "*_`[~!<(".repeat(20_000)],
  ["openings", "[".repeat(100_000)],
  ["targets", "[a](".repeat(40_000)],
  ["backticks", Array.from({ length: 500 }, (_, length) => "`".repeat(length)).join(" ")],
  ["emphasis", "*a **b ".repeat(25_000)],
  ["addresses", "https://a)".repeat(18_000)],
  ["fences", `\`\`\`${"a".repeat(100_000)}\``],
  ["pipes", `${"|".repeat(50_000)}\n${"|-".repeat(50_000)}`],
  ["lists", "- a\n\n".repeat(30_000)],
  ["rules", "* ".repeat(50_000)],
])("parses a long text of %s in linear time", (_, source) => {
  const start = performance.now();
  parseMarkdown(source);
  // A quadratic parser needs minutes.
  expect(performance.now() - start).toBeLessThan(2_000);
});

function strong(shown: string) {
  return { kind: "strong", inlines: text(shown) };
}
