import { type Inline, parseMarkdown, type TextBlock } from "../text/markdown";

/** The output of a model, with its Markdown rendered. */
export function ModelText({ text }: { text: string }) {
  return (
    <div className="model-text">
      {parseMarkdown(text).map((block, index) => (
        <TextBlockView key={index} block={block} />
      ))}
    </div>
  );
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
      // A paragraph, so that headings in model output do not change the outline of the page.
      return (
        <p className="model-text-heading">
          <Inlines inlines={block.inlines} />
        </p>
      );
    case "code":
      return (
        <pre className="code" tabIndex={0}>
          {block.text}
        </pre>
      );
    case "list": {
      const List = block.isOrdered ? "ol" : "ul";
      return (
        <List>
          {block.items.map((inlines, index) => (
            <li key={index}>
              <Inlines inlines={inlines} />
            </li>
          ))}
        </List>
      );
    }
  }
}

function Inlines({ inlines }: { inlines: readonly Inline[] }) {
  return inlines.map((inline, index) => <InlineView key={index} inline={inline} />);
}

function InlineView({ inline }: { inline: Inline }) {
  switch (inline.kind) {
    case "text":
      return inline.text;
    case "code":
      return <code>{inline.text}</code>;
    case "strong":
      return <strong>{inline.text}</strong>;
    case "link":
      return (
        <a href={inline.href} rel="noreferrer noopener" target="_blank">
          {inline.text}
        </a>
      );
  }
}
