// The result of a tool call. The model reads it as JSON; the page shows the output, or the reason there is none.

import { labels } from "../labels";

const { ends } = labels.transcript;

export interface ToolReceipt {
  output: string;
  errors: string;
  /** How the call ended. */
  end: string;
  isTruncated: boolean;
  durationMs?: number;
  sandbox?: string;
  hint?: string;
}

export function parseToolReceipt(content: string, isError: boolean): ToolReceipt {
  const fields = parseObject(content);
  if (!fields) return { output: content, errors: "", end: isError ? ends.failed : ends.done, isTruncated: false };
  const text = (name: string) => (typeof fields[name] === "string" ? (fields[name] as string) : undefined);
  const number = (name: string) => (typeof fields[name] === "number" ? (fields[name] as number) : undefined);
  const isCommand = text("disposition") !== undefined;
  const reason = text("message");
  return {
    output: isCommand ? (text("stdout_preview") ?? "") : (reason ?? JSON.stringify(fields, null, 2)),
    errors: text("stderr_preview") ?? "",
    end: isCommand
      ? commandEnd(text("disposition"), number("exit_status"))
      : (text("kind") ?? (isError ? ends.failed : ends.done)),
    isTruncated: fields.truncated === true,
    durationMs: number("duration_ms"),
    sandbox: text("sandbox"),
    hint: text("hint"),
  };
}

function parseObject(content: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function commandEnd(disposition: string | undefined, status: number | undefined): string {
  if (disposition === "timed_out") return ends.timedOut;
  if (disposition === "stopped") return ends.stopped;
  if (disposition === "killed") return ends.killed;
  return status === 0 ? ends.ok : ends.status(status);
}

/** The command of a shell call; undefined for other tools, which have arguments only. */
export function commandOf(input: unknown): string | undefined {
  const command = (input as { cmd?: unknown } | null | undefined)?.cmd;
  return typeof command === "string" ? command : undefined;
}
