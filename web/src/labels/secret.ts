// Texts about secrets that commands of agents receive by name.
import { joinList } from "../text/number";

export const secret = {
  add: "Store secret",
  agents: "Agents whose commands may receive it",
  agentsHint: "A command receives it only if the model names it for the command.",
  agentsNone: "There are no agents yet.",
  change: "Change",
  changeAction: "change the secret",
  changeTitle: (name: string) => `Change ${name}`,
  handle: "stored in",
  lede: "Commands of an agent receive a secret as an environment variable. Values are never shown here or in a log, only where they are stored.",
  listAction: "load the secrets",
  loading: "Loading secrets",
  name: "Name",
  nameError: "Use upper-case letters, digits and underscores, at most 64, and no digit first.",
  nameExample: "DEPLOY_TOKEN",
  nameHint: "The environment variable under which a command receives it.",
  nameTaken: "A secret with this name is stored already. Change that one, or use another name.",
  none: "No secrets yet",
  noneHint: "Store one, and choose the agents whose commands may receive it.",
  problems: { none: "available", some: "not available" },
  remove: "Remove",
  removeAction: "remove the secret",
  removeButton: "Remove secret",
  removeHint:
    "Commands that name it are denied from then on, and the agents lose the name from their lists. A file or keyring entry that Wakeful did not create stays.",
  removeTitle: (name: string) => `Remove ${name}`,
  storeAction: "store the secret",
  title: "Store a secret",
  usedBy: (agents: readonly string[]) =>
    agents.length === 0 ? "No agent may use it." : `May be used by ${joinList(agents)}.`,
  value: "Value",
  valueError: "Enter a value of 8 to 8,192 bytes.",
  valueHint:
    "Sent once and never shown again. For a value with several lines, use the command wakeful secret set NAME --file FILE.",
  valueKept: "Without a new value, the stored one stays.",
  with: (verb: string, name: string) => `${verb} ${name}`,
};
