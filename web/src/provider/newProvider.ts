// A provider with its own address, and the commands that add it to the settings file.
import { labels } from "../labels";

/** The wire formats, the most common one of own servers first. */
export const FORMATS = ["openai-chat", "openai", "anthropic", "gemini", "openai-codex"] as const;

export interface NewProvider {
  name: string;
  kind: string;
  baseUrl: string;
}

/** Lowercase letters, digits, - and _, as in the names of agents. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Without quotes, so that the command is one argument of a shell. */
const ADDRESS = /^https?:\/\/[^\s'"]+$/;

export function addErrors({ name, baseUrl }: NewProvider): { name?: string; baseUrl?: string } {
  return {
    ...(NAME.test(name) ? {} : { name: labels.provider.addNameError }),
    ...(ADDRESS.test(baseUrl) ? {} : { baseUrl: labels.provider.baseUrlError }),
  };
}

export function addCommands({ name, kind, baseUrl }: NewProvider): string {
  return [`kind ${kind}`, `base_url '${baseUrl}'`]
    .map((set) => `wakeful config set providers.${name}.${set}\n`)
    .join("");
}
