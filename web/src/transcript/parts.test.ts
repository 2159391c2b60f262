import { expect, it } from "vitest";
import { sampleLine } from "../api/samples";
import { runContentOf, toConversation } from "./parts";

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

it("thinking is not a reply", () => {
  const lines = [
    sampleLine("user", [text("go")]),
    sampleLine("assistant", [{ type: "thinking", text: "hm" }, text("Done.")]),
  ];
  expect(runContentOf({ agent_id: "main", lines, has_more: false }, "r")?.replies).toEqual(["Done."]);
});

it("shows that a message was erased", () => {
  expect(toConversation([{ ...sampleLine("user", []), erased: true }])).toMatchObject([{ kind: "erased" }]);
});

it("returns replies and calls of one run in order", () => {
  const lines = [
    sampleLine("user", [text("go")]),
    sampleLine("assistant", [text("I look."), use("c", "ls")]),
    sampleLine("tool", [result("c", "files")]),
    sampleLine("assistant", [text("Done.")]),
    sampleLine("user", [text("more")], "other"),
  ];
  const account = runContentOf({ agent_id: "main", lines, has_more: false }, "r");
  expect(account?.replies).toEqual(["I look.", "Done."]);
  expect(account?.calls.map((call) => call.result?.content)).toEqual(["files"]);
});

it("returns nothing for a run whose start is not loaded", () => {
  const lines = [sampleLine("assistant", [text("…and so on")])];
  expect(runContentOf({ agent_id: "main", lines, has_more: true }, "r")).toBeUndefined();
  expect(runContentOf({ agent_id: "main", lines, has_more: true }, "older")).toBeUndefined();
});

it("shows a failed run after its last line", () => {
  const run = {
    status: "failed" as const,
    explanation: { code: "timeout", message: "No answer.", next_steps: ["retry" as const] },
  };
  const parts = toConversation([{ ...sampleLine("user", [text("Do it")]), run }]);
  expect(parts.map((part) => part.kind)).toEqual(["message", "run"]);
});
