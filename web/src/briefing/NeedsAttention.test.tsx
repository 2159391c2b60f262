import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleEvent } from "../api/samples";
import { attentionItems } from "./attention";
import { NeedsAttention } from "./NeedsAttention";

afterEach(cleanup);

it("says that nothing needs attention", () => {
  render(<NeedsAttention items={[]} onDismiss={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs attention" }).textContent).toContain("Nothing needs attention.");
});

it("an alert links to its run and can be dismissed", () => {
  const onHandled = vi.fn();
  const event = sampleEvent(1, { run_key: "r", visibility: "action_required" });
  render(<NeedsAttention items={attentionItems([], [event], new Set())} onDismiss={onHandled} />);
  expect(screen.getByRole("link", { name: "View run" }).getAttribute("href")).toBe("/agents/main/runs/r");
  fireEvent.click(screen.getByRole("button", { name: "Dismiss" }));
  expect(onHandled).toHaveBeenCalledExactlyOnceWith(["id-main-1"]);
});
