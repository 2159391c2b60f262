// Numbers, lists and shortened lines.
import { visibleText } from "./visible";

const groups = new Intl.NumberFormat("en");

export function formatInteger(count: number): string {
  return groups.format(count);
}

/** "1 token", "1,234 tokens". */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${formatInteger(count)} ${count === 1 ? one : many}`;
}

const BYTES_PER_KB = 1_000;

/** "812 bytes", "3.1 kB", "42 kB", "1.2 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < BYTES_PER_KB) return pluralize(bytes, "byte");
  const kilo = bytes / BYTES_PER_KB;
  return kilo < BYTES_PER_KB ? `${formatAmount(kilo)} kB` : `${formatAmount(kilo / BYTES_PER_KB)} MB`;
}

function formatAmount(amount: number): string {
  return amount < 10 ? amount.toFixed(1) : formatInteger(Math.round(amount));
}

/** "a", "a and b", "a, b and c". */
export function joinList(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** A text on one line, shortened with an ellipsis. */
export function oneLine(text: string, charsMax: number): string {
  const line = visibleText(text.trim().replaceAll(/\s+/g, " "));
  return line.length > charsMax ? `${line.slice(0, charsMax).trimEnd()}…` : line;
}

/** The first line of a text, shortened with an ellipsis. */
export function firstLine(text: string, charsMax: number): string {
  const [line = ""] = text.trim().split("\n");
  const cut = line.length > charsMax ? line.slice(0, charsMax).trimEnd() : line;
  return cut.length < text.trim().length ? `${cut}…` : cut;
}
