import { visibleText } from "./visible";

/** A text with its first letter in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Messages of the server are lower case and have no full stop; on the page they stand alone. */
export function toSentence(text: string): string {
  if (text === "") return "";
  const capitalized = capitalize(visibleText(text));
  return /[.!?…:]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}
