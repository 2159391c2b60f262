import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { sampleAgent, sampleLine } from "../api/samples";
import type { Block } from "../api/types";
import { Conversation } from "./Conversation";

afterEach(cleanup);

function show(...blocks: Block[]) {
  const outbox = { messages: [], send: () => undefined, retry: () => undefined, discard: () => undefined, redacted: 0 };
  const lines = [sampleLine("user", [{ type: "text", text: "Where is it?" }]), sampleLine("assistant", blocks)];
  render(<Conversation agent={sampleAgent()} lines={lines} live="" isOpenHere={false} queue={[]} outbox={outbox} />);
}

it("keeps thinking closed until it is opened", () => {
  show({ type: "thinking", text: "It must be north." }, { type: "text", text: "North." });
  const thought = screen.getByText("Thinking").closest("details");
  expect(thought?.open).toBe(false);
  expect(thought?.textContent).toContain("It must be north.");
});

it("says that the provider hides thinking", () => {
  show({ type: "thinking", text: "" });
  expect(screen.getByText("Thinking (not shown by the provider)")).toBeTruthy();
});

it("links only pages of the web that a search found", () => {
  show(
    { type: "web_search", query: "tides", sources: [] },
    { type: "web_search", query: "", sources: ["https://a.example/", "javascript:alert(1)"] },
  );
  expect(screen.getByText("Searched the web: tides")).toBeTruthy();
  expect(screen.getAllByRole("link", { hidden: true }).map((link) => link.getAttribute("href"))).toContain(
    "https://a.example/",
  );
  expect(document.body.innerHTML).not.toContain("javascript:");
});

it("shows name, type and size of an attachment", () => {
  show({ type: "attachment", name: "map.png", media_type: "image/png", base64_bytes: 4_096 });
  expect(screen.getByText("map.png").parentElement?.textContent).toContain("image/png, 3.1 kB");
});
