// Types of endpoints that docs/openapi.json does not declare yet.

export interface Setting {
  name: string;
  value?: unknown;
  origin: "default" | "file" | "environment" | "flag";
  line?: number;
  description: string;
  needs_restart: boolean;
}
export interface SettingList {
  file: string;
  settings: Setting[];
  problem?: { message: string };
}
