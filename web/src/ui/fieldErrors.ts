// Puts an error of the server next to the field that it names.
import { asFailure } from "../api/failure";
import { toSentence } from "../text/sentence";

export interface FieldErrors<F extends string> {
  byField: Partial<Record<F, string>>;
  /** The error, when it names no field of the form. */
  other: unknown;
}

/**
 * Finds the field that an error names. The server writes the names of fields between backticks, or as the first word. The
 * names of the contract are given with the form's own.
 */
export function fieldErrors<F extends string>(error: unknown, names: Readonly<Record<string, F>>): FieldErrors<F> {
  if (!error) return { byField: {}, other: undefined };
  const failure = asFailure(error);
  const mentioned = [...failure.message.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name);
  const [first = ""] = failure.message.split(/[\s:]/);
  const named = [...mentioned, first].flatMap((name) => [name, name.split(".").at(-1) ?? ""]);
  const found = named.find((name) => name in names);
  if (found === undefined) return { byField: {}, other: error };
  const text = [failure.message, failure.hint].filter((part) => part !== "").map(toSentence);
  return { byField: { [names[found] as F]: text.join(" ") } as Partial<Record<F, string>>, other: undefined };
}
