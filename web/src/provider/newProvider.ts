// A provider with its own address, as a form holds it.
import { labels } from "../labels";

/** The wire formats, the most common one of own servers first. */
export const FORMATS = ["openai-chat", "openai", "anthropic", "gemini", "openai-codex"] as const;

export interface NewProvider {
  name: string;
  kind: (typeof FORMATS)[number];
  baseUrl: string;
  key: string;
  skipsTest: boolean;
}

export const EMPTY_PROVIDER: NewProvider = { name: "", kind: FORMATS[0], baseUrl: "", key: "", skipsTest: false };

/** The fields of the form by their names in the contract. */
export const ERROR_NAMES = { provider: "name", base_url: "baseUrl", key: "key" } as const;

/** Lowercase letters, digits, - and _, as in the names of agents. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

const ADDRESS = /^https?:\/\/\S+$/;

export function addErrors({ name, baseUrl }: NewProvider): { name?: string; baseUrl?: string } {
  return {
    ...(NAME.test(name) ? {} : { name: labels.provider.addNameError }),
    ...(ADDRESS.test(baseUrl) ? {} : { baseUrl: labels.provider.baseUrlError }),
  };
}

export const addProviderOf = ({ name, kind, baseUrl, key, skipsTest }: NewProvider) => ({
  provider: name,
  kind,
  base_url: baseUrl,
  ...(key.trim() === "" ? {} : { key: key.trim() }),
  skip_test: skipsTest,
});
