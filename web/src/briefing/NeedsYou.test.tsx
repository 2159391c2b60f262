import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleEvent } from "../api/samples";
import { NeedsYou } from "./NeedsYou";
import { needs } from "./needs";

afterEach(cleanup);

it("says in calm words that nothing needs you", () => {
  render(<NeedsYou needs={[]} budget={undefined} onHandled={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs you" }).textContent).toContain("Nothing needs you.");
});

it("leads to the run in question, and can be waved away", () => {
  const onHandled = vi.fn();
  const event = sampleEvent(1, { run_key: "r", visibility: "action_required" });
  render(<NeedsYou needs={needs([], [event], new Set())} budget={undefined} onHandled={onHandled} />);
  expect(screen.getByRole("link", { name: "See what happened" }).getAttribute("href")).toBe("/agents/main/runs/r");
  fireEvent.click(screen.getByRole("button", { name: "Done with this" }));
  expect(onHandled).toHaveBeenCalledExactlyOnceWith(["id-main-1"]);
});
