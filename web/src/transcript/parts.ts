// A transcript as the parts of a conversation: messages, replies, and each tool call with its result.
import type { TranscriptLine, TranscriptRun } from "../api/types";

export interface Call {
  id: string;
  name: string;
  input: unknown;
  /** Absent until its round ends. */
  result?: { isError: boolean; content: string };
}

export type Part =
  | { kind: "message"; id: string; runKey: string; at: string; text: string }
  | { kind: "reply"; id: string; runKey: string; at: string; text: string }
  | { kind: "thinking"; id: string; runKey: string; at: string; text: string }
  | { kind: "search"; id: string; runKey: string; at: string; query: string; sources: readonly string[] }
  | {
      kind: "attachment";
      id: string;
      runKey: string;
      at: string;
      name: string;
      mediaType: string;
      bytes: number;
      /** A tool returned it; otherwise a person attached it. */
      isFromTool: boolean;
    }
  | { kind: "toolCall"; id: string; runKey: string; at: string; call: Call }
  | { kind: "erased"; id: string; runKey: string; at: string }
  | { kind: "run"; id: string; runKey: string; at: string; run: TranscriptRun };

export function toConversation(lines: readonly TranscriptLine[]): Part[] {
  const parts: Part[] = [];
  /** Calls without a result, oldest first: a provider may reuse an id in a later round. */
  const open = new Map<string, Call[]>();
  lines.forEach((line, index) => {
    const { run_key: runKey, at } = line;
    if (line.erased) parts.push({ kind: "erased", id: `${index}`, runKey, at });
    line.blocks.forEach((block, position) => {
      const id = `${index}.${position}`;
      switch (block.type) {
        case "text":
          if (block.text.trim() !== "")
            parts.push({ kind: line.role === "user" ? "message" : "reply", id, runKey, at, text: block.text });
          break;
        case "thinking":
          parts.push({ kind: "thinking", id, runKey, at, text: block.text.trim() });
          break;
        case "web_search":
          if (block.query !== "" || block.sources.length > 0)
            parts.push({ kind: "search", id, runKey, at, query: block.query, sources: block.sources });
          break;
        case "attachment":
          parts.push({
            kind: "attachment",
            id,
            runKey,
            at,
            name: block.name,
            mediaType: block.media_type,
            bytes: decoded(block.base64_bytes),
            isFromTool: line.role === "tool",
          });
          break;
        case "tool_use": {
          const call: Call = { id, name: block.name, input: block.input };
          const name = `${runKey}/${block.call_id}`;
          open.set(name, [...(open.get(name) ?? []), call]);
          parts.push({ kind: "toolCall", id, runKey, at, call });
          break;
        }
        case "tool_result": {
          const call = open.get(`${runKey}/${block.call_id}`)?.shift();
          if (call) call.result = { isError: block.is_error, content: block.content };
        }
      }
    });
    if (line.run) parts.push({ kind: "run", id: `${index}.run`, runKey, at, run: line.run });
  });
  return parts;
}

/** Four characters of base64 are three bytes. */
function decoded(base64Bytes: number): number {
  return Math.floor((base64Bytes * 3) / 4);
}
