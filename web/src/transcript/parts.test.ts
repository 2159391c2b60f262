import { expect, it } from "vitest";
import { sampleLine } from "../api/samples";
import { toConversation } from "./parts";

const use = (callId: string, cmd: string) => ({
  type: "tool_use" as const,
  call_id: callId,
  name: "ExecCommand",
  input: { cmd },
});
const result = (callId: string, content: string) => ({
  type: "tool_result" as const,
  call_id: callId,
  is_error: false,
  content,
});
const text = (value: string) => ({ type: "text" as const, text: value });

it("matches each result to its call when an id is reused", () => {
  const parts = toConversation([
    sampleLine("user", [text("go")]),
    sampleLine("assistant", [text("first"), use("c", "ls")]),
    sampleLine("tool", [result("c", "one")]),
    sampleLine("assistant", [use("c", "pwd")]),
    sampleLine("tool", [result("c", "two")]),
  ]);
  expect(parts.map((part) => (part.kind === "toolCall" ? part.call.result?.content : part.kind))).toEqual([
    "message",
    "reply",
    "one",
    "two",
  ]);
});

it("keeps calls of different runs apart", () => {
  const parts = toConversation([
    sampleLine("assistant", [use("c", "ls")], "a"),
    sampleLine("assistant", [use("c", "pwd")], "b"),
    sampleLine("tool", [result("c", "b's")], "b"),
  ]);
  expect(parts.map((part) => part.kind === "toolCall" && part.call.result?.content)).toEqual([undefined, "b's"]);
});

it("separates thinking and attachments from text", () => {
  const attachment = { type: "attachment" as const, name: "map.png", media_type: "image/png", base64_bytes: 4_096 };
  const parts = toConversation([
    sampleLine("user", [text("where?"), attachment]),
    sampleLine("assistant", [
      { type: "thinking", text: " north, I think " },
      { type: "thinking", text: "" },
      text("North."),
    ]),
  ]);
  expect(parts).toMatchObject([
    { kind: "message", text: "where?" },
    { kind: "attachment", name: "map.png", mediaType: "image/png", bytes: 3_072 },
    { kind: "thinking", text: "north, I think" },
    { kind: "thinking", text: "" },
    { kind: "reply", text: "North." },
  ]);
});

it("shows searches of the provider with a query or pages", () => {
  const search = (query: string, sources: string[]) => ({ type: "web_search" as const, query, sources });
  const parts = toConversation([
    sampleLine("assistant", [search("tides", []), search("", ["https://a.example/"]), search("", []), text("High.")]),
  ]);
  expect(parts).toMatchObject([
    { kind: "search", query: "tides", sources: [] },
    { kind: "search", query: "", sources: ["https://a.example/"] },
    { kind: "reply", text: "High." },
  ]);
});

it("shows who an attachment is from", () => {
  const image = { type: "attachment" as const, name: "map.png", media_type: "image/png", base64_bytes: 4 };
  const parts = toConversation([
    sampleLine("user", [image]),
    sampleLine("assistant", [use("c", "ReadFile")]),
    sampleLine("tool", [result("c", "{}"), image]),
  ]);
  const sources = parts.flatMap((part) => (part.kind === "attachment" ? [part.isFromTool] : []));
  expect(sources).toEqual([false, true]);
});

it("shows that a message was erased", () => {
  expect(toConversation([{ ...sampleLine("user", []), erased: true }])).toMatchObject([{ kind: "erased" }]);
});

it("shows a failed run after its last line", () => {
  const run = {
    status: "failed" as const,
    explanation: { code: "timeout", message: "No answer.", next_steps: ["retry" as const] },
  };
  const parts = toConversation([{ ...sampleLine("user", [text("Do it")]), run }]);
  expect(parts.map((part) => part.kind)).toEqual(["message", "run"]);
});
