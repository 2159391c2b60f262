// The fields of the form for agents.
import type { AgentSettings, Capability, CreateAgent, SetAgentSettings } from "../api/types";
import { capError } from "../budget/money";
import { labels } from "../labels";
import { guardrailError, guardrailPolicyOf, guardrailTextOf } from "./guardrailDraft";
import { type QuotaDrafts, quotaDraftsOf, quotaError, toolQuotasOf } from "./quotaDraft";
import {
  SANDBOX_LISTS,
  type SandboxDraft,
  type SandboxList,
  sandboxDraftOf,
  sandboxErrors,
  sandboxScopeOf,
} from "./sandboxDraft";

/** The limits of the API contract. */
export const INSTRUCTIONS_BYTES_MAX = 32 * 1024;
const ROUNDS_MAX = 100_000;
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Stands for every category of the journal, including those created later. */
export const ALL_CATEGORIES = "*";

/** Every capability, in the order of the form. */
export const CAPABILITIES = Object.keys(labels.agentForm.capabilityNames) as Capability[];

/** An empty text stands for the default. */
export interface AgentDraft {
  name: string;
  description: string;
  instructions: string;
  model: string;
  fallbacks: string;
  /** Whether models are accepted without asking their providers whether they have them. */
  skipsModelTest: boolean;
  dailyUsd: string;
  maxRounds: string;
  workspace: string;
  askTools: readonly string[];
  denyTools: readonly string[];
  toolQuotas: QuotaDrafts;
  guardrails: string;
  mayStart: readonly string[];
  capabilities: readonly string[];
  webSearch: string;
  categories: readonly string[];
  foreignTargets: string;
  channels: readonly string[];
  permissionMode: string;
  sandbox: SandboxDraft;
}

export type AgentErrors = Partial<Record<keyof AgentDraft | SandboxList, string>>;

/** The names of the fields in the API contract, and in the form. */
export const FIELD_NAMES = {
  agent_id: "name",
  description: "description",
  instructions: "instructions",
  model: "model",
  fallbacks: "fallbacks",
  skip_model_test: "skipsModelTest",
  daily_usd: "dailyUsd",
  max_rounds: "maxRounds",
  workspace: "workspace",
  ask_tools: "askTools",
  deny_tools: "denyTools",
  tool_quotas: "toolQuotas",
  guardrails: "guardrails",
  may_start: "mayStart",
  capabilities: "capabilities",
  web_search: "webSearch",
  allowed_category_ids: "categories",
  foreign_targets: "foreignTargets",
  answer_channels: "channels",
  permission_mode: "permissionMode",
  sandbox: "sandbox",
} as const satisfies Record<string, keyof AgentDraft>;

/** The fields that an error of the server can name. */
export const ERROR_NAMES: Readonly<Record<string, keyof AgentErrors>> = {
  ...FIELD_NAMES,
  ...Object.fromEntries(SANDBOX_LISTS.map((list) => [list, list])),
};

const DEFAULT_MODE = "standard";

/** The word of the form for a search that is on. */
const WEB_SEARCH_ON = "on";

export const EMPTY_AGENT: AgentDraft = {
  name: "",
  description: "",
  instructions: "",
  model: "",
  fallbacks: "",
  skipsModelTest: false,
  dailyUsd: "",
  maxRounds: "",
  workspace: "",
  askTools: [],
  denyTools: [],
  toolQuotas: {},
  guardrails: "",
  mayStart: [],
  capabilities: CAPABILITIES,
  webSearch: "",
  categories: [ALL_CATEGORIES],
  foreignTargets: "",
  channels: [],
  permissionMode: DEFAULT_MODE,
  sandbox: sandboxDraftOf(undefined),
};

export function agentDraftOf(settings: AgentSettings): AgentDraft {
  return {
    name: settings.agent_id,
    description: settings.description ?? "",
    instructions: settings.instructions ?? "",
    model: settings.model ?? "",
    fallbacks: settings.fallbacks?.join(" ") ?? "",
    skipsModelTest: false,
    dailyUsd: settings.daily_usd ?? "",
    maxRounds: settings.max_rounds === undefined ? "" : String(settings.max_rounds),
    workspace: settings.workspace ?? "",
    askTools: settings.ask_tools ?? [],
    denyTools: settings.deny_tools ?? [],
    toolQuotas: quotaDraftsOf(settings.tool_quotas),
    guardrails: guardrailTextOf(settings.guardrails),
    mayStart: settings.may_start ?? [],
    capabilities: inOrder(settings.capabilities ?? CAPABILITIES),
    webSearch: settings.web_search ? WEB_SEARCH_ON : "",
    categories: settings.allowed_category_ids ?? [ALL_CATEGORIES],
    foreignTargets: settings.foreign_targets ?? "",
    channels: settings.answer_channels ?? [],
    permissionMode: settings.permission_mode ?? DEFAULT_MODE,
    sandbox: sandboxDraftOf(settings.sandbox),
  };
}

/** What is wrong with the fields; empty when they are valid. */
export function agentErrors(draft: AgentDraft): AgentErrors {
  const { errors } = labels.agentForm;
  const rounds = draft.maxRounds.trim();
  const isRounds = rounds === "" || (/^[1-9]\d*$/.test(rounds) && Number(rounds) <= ROUNDS_MAX);
  const cap = draft.dailyUsd.trim() === "" ? undefined : capError(draft.dailyUsd);
  const quotas = quotaError(draft.toolQuotas);
  const guardrails = guardrailError(draft.guardrails);
  return {
    ...(NAME.test(draft.name) ? {} : { name: errors.name }),
    ...(byteCount(draft.instructions) > INSTRUCTIONS_BYTES_MAX ? { instructions: errors.instructions } : {}),
    ...(isRounds ? {} : { maxRounds: errors.maxRounds }),
    ...(cap === undefined ? {} : { dailyUsd: cap }),
    ...(quotas === undefined ? {} : { toolQuotas: quotas }),
    ...(guardrails === undefined ? {} : { guardrails }),
    ...(draft.capabilities.length > 0 ? {} : { capabilities: errors.capabilities }),
    ...(draft.categories.length > 0 ? {} : { categories: errors.categories }),
    ...sandboxErrors(draft.sandbox),
  };
}

/** The names of all tools, also of those that the agent's lists name and this version does not have. */
export function toolNames({ askTools, denyTools, toolQuotas }: AgentDraft, known: readonly string[]): string[] {
  return [...new Set([...known, ...askTools, ...denyTools, ...Object.keys(toolQuotas)])];
}

/** Capabilities in the order of the form, so that choosing one again undoes the change. */
export function inOrder(capabilities: readonly string[]): string[] {
  return CAPABILITIES.filter((capability) => capabilities.includes(capability));
}

export function byteCount(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The changes of a form. A field that became empty restores its default. */
export function setAgentSettingsOf(changes: Partial<AgentDraft>): SetAgentSettings {
  const entries = Object.entries(FIELD_NAMES)
    .filter(([, field]) => field !== "name" && field in changes)
    .map(([name, field]) => [name, wireValue(field, changes[field])]);
  return Object.fromEntries(entries) as SetAgentSettings;
}

/** The agent of a form, with the fields that differ from the defaults. */
export function createAgentOf(draft: AgentDraft, changes: Partial<AgentDraft>): CreateAgent {
  const fields = Object.entries(setAgentSettingsOf(changes)).filter(([, value]) => value !== null);
  return { agent_id: draft.name, visibility: "public", ...Object.fromEntries(fields) };
}

function wireValue(field: keyof AgentDraft, value: AgentDraft[keyof AgentDraft] | undefined): unknown {
  if (field === "skipsModelTest") return value === true;
  if (field === "sandbox") return sandboxScopeOf(value as SandboxDraft);
  if (field === "webSearch") return value === WEB_SEARCH_ON ? true : null;
  if (field === "toolQuotas") return toolQuotasOf(value as QuotaDrafts);
  if (field === "guardrails") return guardrailPolicyOf(value as string);
  // All of them also means those that later versions add.
  if (field === "capabilities" && (value as readonly string[]).length === CAPABILITIES.length) return null;
  if (field === "fallbacks") {
    const models = String(value ?? "").split(/[\s,]+/);
    const named = models.filter((model) => model !== "");
    return named.length === 0 ? null : named;
  }
  if (typeof value !== "string") return Array.isArray(value) && value.length > 0 ? value : null;
  // Instructions are a document: their white space is theirs.
  if (field === "instructions") return value === "" ? null : value;
  const text = value.trim();
  if (text === "") return null;
  return field === "maxRounds" ? Number(text) : text;
}
