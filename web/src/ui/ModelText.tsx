import { type Inline, parseMarkdown, type TextBlock } from "../text/markdown";

/** A model's words, set as text. */
export function ModelText({ text }: { text: string }) {
  return (
    <div className="model-text">
      {parseMarkdown(text).map((block, index) => (
        <TextBlockView key={index} passage={block} />
      ))}
    </div>
  );
}

function TextBlockView({ passage }: { passage: TextBlock }) {
  switch (passage.kind) {
    case "paragraph":
      return (
        <p>
          <Inlines inlines={passage.inlines} />
        </p>
      );
    case "heading":
      // Not a heading of the page: a model's outline would tear up ours.
      return (
        <p className="model-text-heading">
          <Inlines inlines={passage.inlines} />
        </p>
      );
    case "code":
      return (
        <pre className="code" tabIndex={0}>
          {passage.text}
        </pre>
      );
    case "list": {
      const List = passage.isOrdered ? "ol" : "ul";
      return (
        <List>
          {passage.items.map((inlines, index) => (
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
