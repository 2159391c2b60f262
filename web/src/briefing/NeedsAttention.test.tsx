import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleEvent } from "../api/samples";
import { attentionItems } from "./attention";
import { NeedsAttention } from "./NeedsAttention";

afterEach(cleanup);

it("says in calm words that nothing needs you", () => {
  render(<NeedsAttention items={[]} onDismiss={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs you" }).textContent).toContain("Nothing needs you.");
});

it("leads to the run in question, and can be waved away", () => {
  const onHandled = vi.fn();
  const event = sampleEvent(1, { run_key: "r", visibility: "action_required" });
  render(<NeedsAttention items={attentionItems([], [event], new Set())} onDismiss={onHandled} />);
  expect(screen.getByRole("link", { name: "See what happened" }).getAttribute("href")).toBe("/agents/main/runs/r");
  fireEvent.click(screen.getByRole("button", { name: "Done with this" }));
  expect(onHandled).toHaveBeenCalledExactlyOnceWith(["id-main-1"]);
});
