// Reading details of events. They may be erased or come from a newer server, so nothing about them is certain.
import type { Event } from "../api/types";

/** What an event says beyond its title, which its summary may begin with. */
export function gist({ presentation: { title, body, summary } }: Event): string {
  if (body) return body;
  return summary.startsWith(title) ? summary.slice(title.length).replace(/^[:,]\s*/, "").trim() : summary;
}

export function textOf(event: Event, member: string): string | undefined {
  const value = (event.payload as Record<string, unknown> | null)?.[member];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberOf(event: Event, member: string): number | undefined {
  const value = (event.payload as Record<string, unknown> | null)?.[member];
  return typeof value === "number" ? value : undefined;
}

export function totalTokensOf(event: Event): number | undefined {
  const usage = (event.payload as Record<string, unknown> | null)?.token_usage as Record<string, unknown> | undefined;
  const { input_tokens: asked, output_tokens: answered } = usage ?? {};
  return typeof asked === "number" && typeof answered === "number" ? asked + answered : undefined;
}
