// The value of a setting as text, and a typed text as a value.
import type { Setting } from "../api/types";

/** A value as a person reads and types it. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A typed text as a value of the same kind as the current one. The server says what is wrong with it. */
export function typedValue(text: string, current: unknown): unknown {
  const typed = text.trim();
  if (Array.isArray(current)) {
    const items = typed.split(",").map((item) => item.trim());
    return items.filter((item) => item !== "");
  }
  const isText = typeof current === "string";
  return !isText && /^(true|false|-?\d+(\.\d+)?)$/.test(typed) ? JSON.parse(typed) : typed;
}

/** The settings whose name, value or description contains every word. */
export function matching(settings: readonly Setting[], search: string): Setting[] {
  const words = search.toLowerCase().split(/\s+/);
  return settings.filter(({ name, value, description }) => {
    const text = `${name} ${valueText(value)} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
