// What a tool's result says. The model reads JSON; a person reads a command's output, or the reason there is none.

export interface ToolReceipt {
  output: string;
  errors: string;
  /** In a few words, how it ended. */
  end: string;
  isTruncated: boolean;
  durationMs?: number;
  sandbox?: string;
  hint?: string;
}

export function parseToolReceipt(content: string, isError: boolean): ToolReceipt {
  const fields = parseObject(content);
  if (!fields) return { output: content, errors: "", end: isError ? "failed" : "done", isTruncated: false };
  const text = (name: string) => (typeof fields[name] === "string" ? (fields[name] as string) : undefined);
  const number = (name: string) => (typeof fields[name] === "number" ? (fields[name] as number) : undefined);
  const isCommand = text("disposition") !== undefined;
  const reason = text("message");
  return {
    output: isCommand ? (text("stdout_preview") ?? "") : (reason ?? JSON.stringify(fields, null, 2)),
    errors: text("stderr_preview") ?? "",
    end: isCommand
      ? commandEnd(text("disposition"), number("exit_status"))
      : (text("kind") ?? (isError ? "failed" : "done")),
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
  if (disposition === "timed_out") return "ran out of time";
  if (disposition === "stopped") return "was stopped";
  if (disposition === "killed") return "was killed from outside";
  return status === 0 ? "ok" : `ended with status ${status}`;
}

/** The command of a shell call; other tools have arguments only. */
export function commandOf(input: unknown): string | undefined {
  const command = (input as { cmd?: unknown } | null | undefined)?.cmd;
  return typeof command === "string" ? command : undefined;
}
