/** Messages of the server are lower case and without a full stop; on a page they stand alone. */
export function toSentence(text: string): string {
  if (text === "") return "";
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}
