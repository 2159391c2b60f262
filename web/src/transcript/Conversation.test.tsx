import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { sampleAgent, sampleLine } from "../api/samples";
import type { Block } from "../api/types";
import { Conversation } from "./Conversation";

afterEach(cleanup);

function show(...blocks: Block[]) {
  const outbox = { messages: [], send: () => undefined, retry: () => undefined, discard: () => undefined };
  const lines = [sampleLine("user", [{ type: "text", text: "Where is it?" }]), sampleLine("assistant", blocks)];
  render(<Conversation agent={sampleAgent()} lines={lines} live="" queue={[]} outbox={outbox} />);
}

it("keeps a thought closed until somebody opens it", () => {
  show({ type: "thinking", text: "It must be north." }, { type: "text", text: "North." });
  const thought = screen.getByText("What it thought first").closest("details");
  expect(thought?.open).toBe(false);
  expect(thought?.textContent).toContain("It must be north.");
});

it("says that a model thought when its provider shows no words", () => {
  show({ type: "thinking", text: "" });
  expect(screen.getByText("It thought first; its provider does not show what.")).toBeTruthy();
});

it("names what was attached, its kind and its size", () => {
  show({ type: "attachment", name: "map.png", media_type: "image/png", base64_bytes: 4_096 });
  expect(screen.getByText("map.png").parentElement?.textContent).toContain("image/png, 3.1 kB");
});
