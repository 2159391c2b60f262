// Texts about providers, their keys, and settings.
import { pluralize } from "../text/number";

export const provider = {
  defaultModel: (model: string) => `default model ${model}`,
  findAction: "find local servers",
  findLocal: "Find local servers",
  finding: "Searching…",
  found: (count: number) =>
    count === 0
      ? "No model server responds on this machine. Start Ollama, LM Studio, llama.cpp or vLLM and search again."
      : `${pluralize(count, "server")} found. Its models can be chosen for agents.`,
  handle: "key in",
  key: "Key",
  keyAction: "store the key",
  keyHint:
    "Sent once and never shown again. It is stored in the system's keyring, or in a file that only you can read.",
  keyMissing: "Enter a key.",
  keyTitle: (name: string) => `Key of ${name}`,
  lede: "A provider serves models. Keys are never shown here, only whether one is found and where it is stored.",
  listAction: "load the providers",
  loading: "Loading providers",
  local: "On this machine",
  localEmpty: "It has no models yet. Add one to it and search again.",
  localModel: (name: string) => `Model of ${name}`,
  none: "No providers",
  noneHint: "Configure one in the settings.",
  removeAction: "remove the key",
  removeHint:
    "Requests to this provider fail until a key is set again. A file or entry that Wakeful did not create stays.",
  removeKey: "Remove key",
  removeTitle: (name: string) => `Remove the key of ${name}`,
  replaceKey: "Replace key",
  setKey: "Set key",
  skipTest: "Store it without a test",
  skipTestHint: "Otherwise one request without cost checks the key, and a refused key is not stored.",
  states: { found: "key found", local: "needs no key", missing: "key missing" },
  store: "Store key",
  test: "Test",
  testAction: (name: string) => `test ${name}`,
  testing: "Testing…",
  use: "Use this model",
  useAction: "change the default model",
  used: (model: string) => `${model} is the default model now: agents without a model of their own use it.`,
  with: (verb: string, name: string) => `${verb} ${name}`,
};

export const setting = {
  change: "Change",
  changeAction: "change the setting",
  changeTitle: (name: string) => `Change ${name}`,
  columns: { name: "Name", value: "Value", source: "Source", change: "Change" },
  lede: "Settings apply to all agents. Each shows where its value comes from.",
  line: (origin: string, line: number) => `${origin}, line ${line}`,
  listAction: "load the settings",
  loading: "Loading settings",
  none: "No settings",
  noneFound: "No setting matches.",
  noneHint: "This version has no settings.",
  needsRestart: "A change applies after a restart of the daemon. Separate the items of a list with commas.",
  notSet: "not set",
  origins: {
    default: "default",
    file: "settings file",
    environment: "environment variable",
    flag: "flag of the daemon",
  },
  search: "Search settings",
  value: "Value",
  valueHint: "Applies from the next step on. Separate the items of a list with commas.",
  with: (verb: string, name: string) => `${verb} ${name}`,
};
