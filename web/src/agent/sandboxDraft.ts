// The part of the form for agents that sets what the sandbox allows: lists, with one entry on each line.
import type { SandboxScope } from "../api/types";
import { labels } from "../labels";

/** The lists of the API contract, in the order of the form. */
export const SANDBOX_LISTS = [
  "readable_paths",
  "writable_paths",
  "denied_paths",
  "unprotected_paths",
  "allowed_hosts",
  "denied_hosts",
  "published_ports",
  "allowed_secrets",
] as const;

export type SandboxList = (typeof SANDBOX_LISTS)[number];
export type SandboxDraft = Readonly<Record<SandboxList, string>>;

/** The limits of the server. */
const ENTRIES_MAX = 64;
const PORT_MAX = 65_535;

/** The name of a secret is the name of an environment variable. */
export const SECRET_NAME = /^[A-Z_][A-Z0-9_]{0,63}$/;

export function sandboxDraftOf(scope: SandboxScope | undefined): SandboxDraft {
  const texts = SANDBOX_LISTS.map((list) => [list, (scope?.[list] ?? []).join("\n")]);
  return Object.fromEntries(texts) as SandboxDraft;
}

/** The lists that have entries; null when none has. */
export function sandboxScopeOf(draft: SandboxDraft): SandboxScope | null {
  const lists = SANDBOX_LISTS.filter((list) => entriesOf(draft[list]).length > 0);
  if (lists.length === 0) return null;
  return Object.fromEntries(
    lists.map((list) => [
      list,
      list === "published_ports" ? entriesOf(draft[list]).map(Number) : entriesOf(draft[list]),
    ]),
  ) as SandboxScope;
}

/** What is wrong with each list; empty when all are valid. The server checks what paths, hosts and names mean. */
export function sandboxErrors(draft: SandboxDraft): Partial<Record<SandboxList, string>> {
  const { errors } = labels.sandboxForm;
  const found = SANDBOX_LISTS.flatMap((list) => {
    const entries = entriesOf(draft[list]);
    if (entries.length > ENTRIES_MAX) return [[list, errors.tooMany(ENTRIES_MAX)]];
    if (list === "published_ports" && !entries.every(isPort)) return [[list, errors.port]];
    const unnamed = list === "allowed_secrets" && entries.find((name) => !SECRET_NAME.test(name));
    if (unnamed) return [[list, errors.secret(unnamed)]];
    const relative =
      list.endsWith("_paths") && list !== "unprotected_paths" && entries.find((path) => !isAbsolute(path));
    return relative ? [[list, errors.path(relative)]] : [];
  });
  return Object.fromEntries(found) as Partial<Record<SandboxList, string>>;
}

/** Whether a draft allows or denies anything. */
export function isSandboxChanged(draft: SandboxDraft): boolean {
  return sandboxScopeOf(draft) !== null;
}

function entriesOf(text: string): string[] {
  const entries = text.split("\n").map((line) => line.trim());
  return [...new Set(entries.filter((line) => line !== ""))];
}

function isPort(entry: string): boolean {
  return /^[1-9]\d*$/.test(entry) && Number(entry) <= PORT_MAX;
}

function isAbsolute(path: string): boolean {
  return path.startsWith("/") || path.startsWith("~/");
}
