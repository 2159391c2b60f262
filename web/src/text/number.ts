// Numbers and the nouns that they count.

const groups = new Intl.NumberFormat("en");

export function grouped(count: number): string {
  return groups.format(count);
}

/** "1 token", "1,234 tokens". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** "a", "a and b", "a, b and c". */
export function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** A text on one line, cut to a length, with an ellipsis where something is missing. */
export function oneLine(text: string, charsMax: number): string {
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length > charsMax ? `${line.slice(0, charsMax).trimEnd()}…` : line;
}

/** The first line, cut to a length, with an ellipsis where something is missing. */
export function firstLine(text: string, charsMax: number): string {
  const [line = ""] = text.trim().split("\n");
  const cut = line.length > charsMax ? line.slice(0, charsMax).trimEnd() : line;
  return cut.length < text.trim().length ? `${cut}…` : cut;
}
