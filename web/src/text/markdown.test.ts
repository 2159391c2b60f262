import { expect, it } from "vitest";
import { parseMarkdown } from "./markdown";

it("parses paragraphs, headings, lists and fenced code", () => {
  expect(
    parseMarkdown("# Report\nAll is well.\nReally.\n\n- one\n- two\n1. first\n```sh\nls -la\n\nrm x\n```\nend"),
  ).toEqual([
    { kind: "heading", inlines: [{ kind: "text", text: "Report" }] },
    { kind: "paragraph", inlines: [{ kind: "text", text: "All is well.\nReally." }] },
    {
      kind: "list",
      isOrdered: false,
      items: [[{ kind: "text", text: "one" }], [{ kind: "text", text: "two" }], [{ kind: "text", text: "first" }]],
    },
    { kind: "code", text: "ls -la\n\nrm x" },
    { kind: "paragraph", inlines: [{ kind: "text", text: "end" }] },
  ]);
});

it("parses code, bold and web links inside a line", () => {
  expect(parseMarkdown("Use `ls` **now**, see [docs](https://example.org/a).")).toEqual([
    {
      kind: "paragraph",
      inlines: [
        { kind: "text", text: "Use " },
        { kind: "code", text: "ls" },
        { kind: "text", text: " " },
        { kind: "strong", text: "now" },
        { kind: "text", text: ", see " },
        { kind: "link", text: "docs", href: "https://example.org/a" },
        { kind: "text", text: "." },
      ],
    },
  ]);
});

it("links only to the web", () => {
  const [block] = parseMarkdown("[run](javascript:alert(1)) and [file](file:///etc/passwd)");
  expect(JSON.stringify(block)).not.toContain('"link"');
});

it("an unclosed fence ends with the text", () => {
  expect(parseMarkdown("```\nhalf")).toEqual([{ kind: "code", text: "half" }]);
});
