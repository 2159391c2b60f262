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
