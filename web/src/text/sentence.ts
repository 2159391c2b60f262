/** Messages of the server are lower case and have no full stop; on the page they stand alone. */
export function toSentence(text: string): string {
  if (text === "") return "";
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…:]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}
