// Types of endpoints that docs/openapi.json does not declare yet.

export interface AgentSettings {
  agent_id: string;
  description: string;
  instructions?: string;
  model?: string;
  fallbacks?: string[];
  ask_tools: string[];
  ask_tools_of_all_agents: string[];
  deny_tools: string[];
  may_start: string[];
  external_causes?: string;
  answer_channels?: string[];
  max_rounds?: number;
  daily_usd?: string;
  workspace: string;
  allowed_category_ids: string[];
  known_tools: string[];
}
export type SetAgentSettings = Record<string, unknown>;

export interface ModelChoice {
  model_ref: string;
  kind: "hosted" | "route" | "scripted" | "demo";
  is_default: boolean;
  is_usable: boolean;
  input_usd?: string;
  output_usd?: string;
  is_price_assumed: boolean;
}
export interface ModelProvider {
  name: string;
  is_built_in: boolean;
  is_local: boolean;
  kind: string;
  base_url: string;
  key_handle?: string;
  needs_key: boolean;
  has_key: boolean;
  problem?: string;
  default_model?: string;
  models: ModelChoice[];
}
export interface LocalProvider {
  provider: string;
  base_url: string;
  models: string[];
}
export interface ProviderTest {
  is_ok: boolean;
  message: string;
  hint?: string;
  code?: string;
  duration_ms: number;
  models: string[];
}
export interface StoredKey {
  provider: ModelProvider;
  test?: ProviderTest;
}
export interface Setting {
  name: string;
  value?: string;
  origin: string;
  line?: number;
  description: string;
}
export interface SettingList {
  settings: Setting[];
  problem?: string;
}

export type WaitingFor = "approval" | "budget" | "sub_runs" | "time" | "turn" | "brake";
export interface StatusCounts {
  open: number;
  waiting: number;
  quarantined: number;
  completed: number;
  failed: number;
  out_of_rounds: number;
  cancelled: number;
  abandoned: number;
  is_lower_bound?: boolean;
}
export interface ComingSummary {
  waiting_for?: WaitingFor;
  cause_kind?: string;
  model?: string;
  cost_usd?: string;
  duration_ms?: number;
}
export interface RunsPageOf<T> {
  runs: (T & ComingSummary)[];
  next_before?: string;
  counts?: StatusCounts;
}
export interface ComingRun {
  waiting_for?: WaitingFor;
  retries?: { agent_id: string; run_key: string; status: string };
  retried_by?: { agent_id: string; run_key: string; status: string }[];
}
export interface AcceptedMessage {
  run_key: string;
}
