import { memo, useMemo } from "react";
import { labels } from "../labels";
import { type Inline, plainText } from "../text/inline";
import { isMisleading } from "../text/link";
import { type ListItem, MARKDOWN_CHARS_MAX, parseMarkdown, type TextBlock } from "../text/markdown";
import { visibleText } from "../text/visible";
import { CodeBlock } from "./CodeBlock";

/** The text of a model or a person, with its Markdown rendered as elements. Nothing in it is inserted as HTML. */
export const ModelText = memo(function ModelText({ text }: { text: string }) {
  const blocks = useMemo(
    () => (text.length > MARKDOWN_CHARS_MAX ? undefined : parseMarkdown(visibleText(text))),
    [text],
  );
  return (
    <div className="model-text">{blocks ? <Blocks blocks={blocks} /> : <CodeBlock text={text} language="" />}</div>
  );
});

function Blocks({ blocks }: { blocks: readonly TextBlock[] }) {
  return blocks.map((block, index) => <TextBlockView key={index} block={block} />);
}

function TextBlockView({ block }: { block: TextBlock }) {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Inlines inlines={block.inlines} />
        </p>
      );
    case "heading":
      // A paragraph, so that headings in the text do not change the outline of the page.
      return (
        <p className="model-text-heading">
          <Inlines inlines={block.inlines} />
        </p>
      );
    case "code":
      return <CodeBlock text={block.text} language={block.language} />;
    case "quote":
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "rule":
      return <hr />;
    case "table":
      return <Table table={block} />;
    case "list": {
      const items = block.items.map((item, index) => <Item key={index} item={item} />);
      return block.isOrdered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
    }
  }
}

function Item({ item }: { item: ListItem }) {
  const [first, ...rest] = item.blocks;
  // The first paragraph stands beside the mark of its item, without the distance of a paragraph.
  const isPlain = first?.kind === "paragraph";
  return (
    <li className={item.isDone === undefined ? undefined : "task"}>
      {item.isDone !== undefined && (
        <input type="checkbox" checked={item.isDone} disabled aria-label={labels.common.task(item.isDone)} />
      )}
      {isPlain ? <Inlines inlines={first.inlines} /> : first && <TextBlockView block={first} />}
      <Blocks blocks={rest} />
    </li>
  );
}

function Table({ table }: { table: Extract<TextBlock, { kind: "table" }> }) {
  const cell = (column: number) => `align-${table.aligns[column] ?? "left"}`;
  return (
    // A wide table scrolls, and what scrolls must be reachable by keyboard.
    <div className="text-table" role="group" tabIndex={0} aria-label={labels.common.table}>
      <table>
        <thead>
          <tr>
            {table.head.map((inlines, column) => (
              <th key={column} scope="col" className={cell(column)}>
                <Inlines inlines={inlines} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((inlines, column) => (
                <td key={column} className={cell(column)}>
                  <Inlines inlines={inlines} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inlines({ inlines }: { inlines: readonly Inline[] }) {
  return inlines.map((inline, index) => <InlineView key={index} inline={inline} />);
}

function InlineView({ inline }: { inline: Inline }) {
  if (inline.kind === "text") return inline.text;
  if (inline.kind === "code") return <code>{inline.text}</code>;
  const inner = <Inlines inlines={inline.inlines} />;
  switch (inline.kind) {
    case "strong":
      return <strong>{inner}</strong>;
    case "emphasis":
      return <em>{inner}</em>;
    case "strike":
      return <del>{inner}</del>;
    case "link":
      return (
        <>
          <a href={inline.link.href} title={inline.link.href} rel="noopener noreferrer nofollow" target="_blank">
            {inner}
          </a>
          {isMisleading(plainText(inline.inlines), inline.link) && (
            <span className="link-target"> ({inline.link.target})</span>
          )}
        </>
      );
  }
}
