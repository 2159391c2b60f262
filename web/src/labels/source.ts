// Texts about what comes from outside: external triggers, and watched folders and repositories.
import type { SourceKind } from "../api/types";
import { pluralize } from "../text/number";

export const trigger = {
  copy: "Copy the URL",
  count: (count: number) => pluralize(count, "delivery", "deliveries"),
  lede: "Each agent can have a secret URL. An external system that sends a POST request to it wakes the agent. Anyone who has the URL can do so.",
  loadAction: (agentId: string) => `load the trigger of ${agentId}`,
  needsAgent: "Create an agent first: each agent can have one trigger.",
  newest: "newest",
  none: "No agents yet",
  of: (verb: string, agentId: string) => `${verb} of ${agentId}`,
  revoke: "Revoke",
  revokeAction: "revoke the trigger",
  revokeButton: "Revoke trigger",
  revokeHint:
    "Its URL stops working at once. To accept deliveries again, rotate it and give the new URL to the senders.",
  revokeTitle: (agentId: string) => `Revoke the trigger of ${agentId}`,
  revoked: "revoked",
  rotate: "Rotate",
  rotateAction: "rotate the trigger",
  rotateButton: "Rotate URL",
  rotateHint: "The current URL stops working at once. Give the new URL to the senders.",
  rotateTitle: (agentId: string) => `Rotate the trigger of ${agentId}`,
  show: "Show URL",
};

export const source = {
  add: "Add source",
  addAction: "add the source",
  adding: "Scanning…",
  added: "added",
  entries: { folder: (count: number) => pluralize(count, "file"), git: (count: number) => pluralize(count, "ref") },
  failed: (reason: string) => `The last scan failed: ${reason}`,
  kind: "Kind",
  kinds: { folder: "Folder", git: "Git repository" } satisfies Record<SourceKind, string>,
  lede: "Changes in watched folders and Git repositories wake the agents that subscribe to them.",
  listAction: "load the sources",
  loading: "Loading sources",
  name: "Name",
  nameHint: "Subscriptions use it: file.source=NAME or git.source=NAME. Default: a generated name.",
  none: "No sources yet",
  noneHint: "Add a folder or a Git repository. Its existing contents do not count as changes.",
  path: "Path",
  pathError: "Enter an absolute path, such as /home/you/notes.",
  pathExample: "/home/you/notes",
  pathHint: "On the machine where Wakeful runs.",
  remove: "Remove",
  removeAction: "remove the source",
  removeButton: "Remove source",
  removeHint:
    "Wakeful stops watching it and deletes its scan results. The files stay. Subscriptions to it never match again.",
  removeTitle: (name: string) => `Remove source ${name}`,
  scan: "Scan now",
  scanAction: "scan the source",
  scanned: (changes: number, unreadable: number) =>
    `${pluralize(changes, "change")} found${unreadable > 0 ? `, ${unreadable} unreadable` : ""}.`,
  scanning: "Scanning…",
  with: (verb: string, name: string) => `${verb} ${name}`,
};
