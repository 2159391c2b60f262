import ts from "typescript";
import { expect, it } from "vitest";
import { labels } from ".";

const sources = import.meta.glob<string>(["../**/*.tsx", "!../**/*.test.tsx"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Attributes that people read or hear. */
const READ = new Set(["action", "alt", "aria-label", "headline", "label", "placeholder", "title"]);

/** The texts that a component spells out in its markup: children and attributes that people read. */
function spelled(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const isRead = (node: ts.Node): boolean => {
    const { parent } = node;
    if (ts.isJsxElement(parent) || ts.isJsxFragment(parent)) return true;
    if (ts.isJsxAttribute(parent)) return READ.has(parent.name.getText());
    const isPart = ts.isJsxExpression(parent) || ts.isConditionalExpression(parent) || ts.isBinaryExpression(parent);
    const isCompared = ts.isBinaryExpression(parent) && parent.operatorToken.getText().endsWith("==");
    const isCondition = ts.isConditionalExpression(parent) && parent.condition === node;
    return isPart && !isCompared && !isCondition && isRead(parent);
  };
  const literalText = (node: ts.Node): string => {
    if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) return node.text;
    if (!ts.isTemplateExpression(node)) return "";
    return [node.head, ...node.templateSpans.map((span) => span.literal)].map((part) => part.text).join("");
  };
  const visit = (node: ts.Node): void => {
    const own = literalText(node);
    if (/\p{L}{2}/u.test(own) && isRead(node)) found.push(`${path}: ${own.trim()}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** An argument that stands for a text, a number or a list. */
const sample = Object.assign(Object("x"), { join: () => "x" });

/** All texts of the labels; functions are called with sample arguments. */
function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "function") return [String(value(sample, sample, sample, sample))];
  return Object.values(value as object).flatMap(texts);
}

it("finds a text that a component spells out", () => {
  const component = (markup: string) => `export const A = () => ${markup};`;
  for (const markup of [
    "<p>Some text</p>",
    '<p>{isOn ? "on" : ""}</p>',
    "<p>{`of $${cap}`}</p>",
    '<a title="Some text" />',
    '<a title={isOn && "on"} />',
  ]) {
    expect(spelled("A.tsx", component(markup)), markup).toHaveLength(1);
  }
  for (const markup of [
    '<p className="quiet">{labels.a} · {b === "open" && c}</p>',
    '<a href="/agents" key="one" />',
  ]) {
    expect(spelled("A.tsx", component(markup)), markup).toEqual([]);
  }
});

it("holds every text that components show", () => {
  expect(Object.entries(sources).flatMap(([path, text]) => spelled(path, text))).toEqual([]);
});

it("uses no private words", () => {
  const isPrivate =
    /\b(nobody|somebody|anybody|everybody|whoever|whatever|aside|told|thereof|goes on|go on|gone on|seen to|mend\w*|a breath|is no)\b/i;
  expect(texts(labels).filter((text) => isPrivate.test(text))).toEqual([]);
});
