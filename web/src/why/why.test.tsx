import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { WakeCause, WhyNot, WhyRun } from "../api/types";
import { WhyNotView } from "./WhyNotView";
import { WhyView } from "./WhyView";

afterEach(cleanup);

const cause: WakeCause = {
  kind: "subscription",
  source: "subscription:gym",
  description: "change 7, made by a person, matched subscription gym with TASK",
  depth: 0,
  priority: "normal",
  correlation_id: "",
  tokens: ["TASK", "task.category=gym"],
};

const why: WhyRun = {
  run_key: "a".repeat(64),
  agent_id: "coach",
  status: "absorbed",
  summary: "change 7 matched subscription gym; another run absorbed it",
  cause,
  verdict: "absorbed",
  at: "2026-01-01T00:00:00Z",
  gates: [
    { gate: "lifecycle", passed: true },
    { gate: "lifecycle", passed: true, detail: "dormant: passed by the operator" },
  ],
  absorbed_by: "b".repeat(64),
  absorbed: [],
  absorbed_count: 0,
  holds: [],
};

const not: WhyNot = {
  agent_id: "coach",
  since: "2026-01-01T00:00:00Z",
  summary: "nothing has tried to wake it since 2026-01-01T00:00:00Z",
  lifecycle: "active",
  control: "paused",
  mode: "hybrid",
  holds: [{ code: "paused", message: "the agent is paused", hint: "resume it with `wakeful agent resume`" }],
  queued: [],
  queued_count: 0,
  refused: [],
  refusals: [],
  schedules: [],
  schedule_count: 0,
  subscription_count: 0,
};

it("shows the cause, every gate and the absorbing run", () => {
  render(<WhyView why={why} />);
  const text = screen.getByRole("region", { name: "Why" }).textContent;
  expect(text).toContain("Change 7 matched subscription gym; another run absorbed it.");
  expect(text).toContain("TASK task.category=gym");
  expect(screen.getByRole("list", { name: "Gates" }).children).toHaveLength(2);
  expect(text).toContain("dormant: passed by the operator");
  expect(screen.getByRole("link", { name: "View the run that absorbed it" }).getAttribute("href")).toBe(
    `/agents/coach/runs/${"b".repeat(64)}`,
  );
});

it("shows that nothing tried to start, and active holds", () => {
  render(<WhyNotView why={not} />);
  const text = screen.getByRole("region", { name: "Why not" }).textContent;
  expect(text).toContain("Nothing has tried to wake it since 2026-01-01T00:00:00Z.");
  expect(screen.getByRole("list", { name: "Active holds" }).textContent).toContain(
    "To change this: resume it with wakeful agent resume.",
  );
  expect(screen.queryByText("Refused")).toBeNull();
});

it("is closed and calm in normal work", () => {
  const holds = [
    { code: "asleep" as const, message: "the agent sleeps", until: "2026-01-02T00:00:00Z", hint: "wake it" },
    { code: "decision" as const, message: "the run waits (decision)" },
    { code: "run_open" as const, message: "the agent has an unfinished run", hint: "wait for that run" },
  ] as WhyNot["holds"];
  const { container } = render(<WhyNotView why={{ ...not, holds }} />);
  expect(container.querySelector("details")?.open).toBe(false);
  expect(container.querySelector(".warn, .bad")).toBeNull();
  cleanup();
  const again = render(<WhyNotView why={not} />);
  expect(again.container.querySelector("details")?.open).toBe(true);
});

it("shows refused, counted, queued and next wakes", () => {
  const refused = {
    run_key: "c",
    cause,
    verdict: "dormant" as const,
    message: "the agent is dormant",
    at: "2026-01-01T00:00:00Z",
    gates: [],
    hint: "activate it",
  };
  const full: WhyNot = {
    ...not,
    queued: [{ run_key: "w", cause, queued_at: "2026-01-01T00:00:00Z", not_before: "2026-01-02T00:00:00Z" }],
    queued_count: 9,
    refused: [refused],
    refusals: [
      {
        source: "subscription:gym",
        code: "dormant",
        message: "the agent is dormant",
        day: "2026-01-01",
        count: 120,
        last_at: "2026-01-01T00:00:00Z",
      },
    ],
    schedules: [{ schedule_id: "daily", status: "active", next_at: "2026-01-03T07:00:00Z" }],
  };
  render(<WhyNotView why={full} />);
  const list = (name: string) => screen.getByRole("list", { name }).textContent;
  expect(list("Queued (9)")).toContain("starts");
  expect(list("Refused")).toContain("The agent is dormant. To change this: activate it.");
  expect(list("Refused, by day")).toContain("120 × the agent is dormant");
  expect(list("Next firings")).toContain("daily: ");
});
