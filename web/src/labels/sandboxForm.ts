// Texts of the form for what an agent may do without a person, and of its sandbox.
import type { PermissionMode } from "../api/types";

/** Each mode with its name and one sentence. */
const modes: readonly (readonly [PermissionMode, string, string])[] = [
  ["permissive", "Permissive", "Asks only where a policy or a setting requires it."],
  ["standard", "Standard", "Asks before actions whose effects leave the sandbox."],
  ["restrictive", "Restrictive", "Asks before every action."],
];

export const sandboxForm = {
  errors: {
    path: (path: string) => `Write an absolute path: ${path} is relative.`,
    port: "Write one port from 1 to 65535 on each line.",
    secret: (name: string) =>
      `${name} is not a name of a secret: use upper-case letters, digits and underscores, at most 64.`,
    tooMany: (max: number) => `Use at most ${max} entries.`,
  },
  lists: {
    readable_paths: {
      label: "May read",
      hint: "Folders and files, one on each line. {agentId} stands for the name of the agent.",
      example: "/srv/library",
    },
    writable_paths: {
      label: "May write",
      hint: "Folders that it may also read.",
      example: "/srv/exports/{agentId}",
    },
    denied_paths: {
      label: "May not access",
      hint: "Applies even below an allowed folder.",
      example: "/srv/library/private",
    },
    unprotected_paths: {
      label: "Protected places that it may write",
      hint: "Places of the workspace that are read-only otherwise, because they run code of others.",
      example: ".git/hooks",
    },
    allowed_hosts: {
      label: "May connect to",
      hint: "HOST, HOST:PORT or *.DOMAIN, one on each line. “packages” stands for the usual package registries.",
      example: "api.example.com:443",
    },
    denied_hosts: {
      label: "May not connect to",
      hint: "Applies even if a pattern above allows it.",
      example: "internal.example.com",
    },
    published_ports: {
      label: "Published ports",
      hint: "Ports of its servers that programs on this machine can open, one on each line.",
      example: "8080",
    },
    allowed_secrets: {
      label: "Secrets that its commands may receive",
      hint: "Names of stored secrets, one on each line. A command receives those that the model names for it.",
      example: "DEPLOY_TOKEN",
    },
  },
  mode: "When it asks",
  modes,
  scope: "Files, hosts, ports and secrets",
  scopeHint:
    "Without entries it may write only in its workspace and a temporary folder, connect to nothing, and receive no secret.",
  title: "Permissions and sandbox",
};
