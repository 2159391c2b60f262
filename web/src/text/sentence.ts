import { visibleText } from "./visible";

/** A text with its first letter in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Names keep their case at the beginning of a sentence. */
const BEGINS_WITH_NAME = /^[a-z][\w.-]* (requires a key|refuses the key|responds|at [\w.:-]+: )/;

/** Messages of the server are lower case and have no full stop; on the page they stand alone. */
export function toSentence(text: string): string {
  if (text === "") return "";
  const visible = visibleText(text);
  const sentence = BEGINS_WITH_NAME.test(visible) ? visible : capitalize(visible);
  return /[.!?…:]$/.test(sentence) ? sentence : `${sentence}.`;
}
