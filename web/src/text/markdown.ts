// Parses the subset of Markdown that models write. Everything else stays plain text.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; text: string }
  | { kind: "link"; text: string; href: string };

export type TextBlock =
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "heading"; inlines: Inline[] }
  | { kind: "list"; isOrdered: boolean; items: Inline[][] }
  | { kind: "code"; text: string };

const FENCE = /^\s*```/;
const HEADING = /^#{1,6}\s+/;
const ITEM = /^\s*(?:[-*•]|(\d+)[.)])\s+/;

export function parseMarkdown(text: string): TextBlock[] {
  const lines = text.split("\n");
  const blocks: TextBlock[] = [];
  let at = 0;
  const takeWhile = (isTaken: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && isTaken(lines[at] as string)) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] as string;
    if (line.trim() === "") {
      at += 1;
    } else if (FENCE.test(line)) {
      at += 1;
      blocks.push({ kind: "code", text: takeWhile((one) => !FENCE.test(one)).join("\n") });
      at += 1;
    } else if (HEADING.test(line)) {
      at += 1;
      blocks.push({ kind: "heading", inlines: parseInlines(line.replace(HEADING, "")) });
    } else if (ITEM.test(line)) {
      const items = takeWhile((one) => ITEM.test(one)).map((one) => parseInlines(one.replace(ITEM, "")));
      blocks.push({ kind: "list", isOrdered: ITEM.exec(line)?.[1] !== undefined, items });
    } else {
      const own = takeWhile((one) => one.trim() !== "" && !FENCE.test(one) && !HEADING.test(one) && !ITEM.test(one));
      blocks.push({ kind: "paragraph", inlines: parseInlines(own.join("\n")) });
    }
  }
  return blocks;
}

/** Code, bold, and links to the web. No other link is recognized: model output must not run code in the page. */
const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;

function parseInlines(text: string): Inline[] {
  const inlines: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > from) inlines.push({ kind: "text", text: text.slice(from, match.index) });
    const [whole, code, strong, label, href] = match;
    if (code !== undefined) inlines.push({ kind: "code", text: code });
    else if (strong !== undefined) inlines.push({ kind: "strong", text: strong });
    else inlines.push({ kind: "link", text: label as string, href: href as string });
    from = match.index + whole.length;
  }
  if (from < text.length) inlines.push({ kind: "text", text: text.slice(from) });
  return inlines;
}
