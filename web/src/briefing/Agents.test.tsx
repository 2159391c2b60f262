import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { sampleAgent, sampleRunSummary } from "../api/samples";
import type { RunStatus } from "../api/types";
import { NO_LIVE_TEXT } from "../live/deltas";
import { Agents } from "./Agents";

afterEach(cleanup);

const list = (working: string) => (
  <Agents
    agents={["a", "b"].map((id) =>
      sampleAgent({ agent_id: id, visibility: "public", activity: id === working ? "working" : "asleep" }),
    )}
    budget={undefined}
    parked={new Set()}
    liveTexts={NO_LIVE_TEXT}
  />
);
const names = () => screen.getAllByRole("heading", { level: 3 }).map((one) => one.textContent);

it("sorts agents by need, but not while the pointer is over them", () => {
  const { rerender } = render(list("b"));
  expect(names()).toEqual(["b", "a"]);
  const cards = screen.getByRole("list");
  fireEvent.pointerEnter(cards);
  rerender(list("a"));
  expect(names()).toEqual(["b", "a"]);
  fireEvent.pointerLeave(cards);
  expect(names()).toEqual(["a", "b"]);
});

it("shows the outcome of a run that has ended, and of an open run only its message", () => {
  const card = (status: RunStatus) => (
    <Agents
      agents={[sampleAgent({ last_run: sampleRunSummary({ status, preview: "Deploy" }) })]}
      budget={undefined}
      parked={new Set()}
      liveTexts={NO_LIVE_TEXT}
    />
  );
  const { rerender } = render(card("failed"));
  expect(screen.getByRole("listitem").textContent).toContain("Failed: Deploy");
  rerender(card("open"));
  expect(screen.getByRole("listitem").textContent).toContain("Deploy");
  expect(screen.getByRole("listitem").textContent).not.toContain("Open:");
});
