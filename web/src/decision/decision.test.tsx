import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleDecision, sampleRun } from "../api/samples";
import type { Decision } from "../api/types";
import { attentionItems } from "../briefing/attention";
import { NeedsAttention } from "../briefing/NeedsAttention";
import { DecisionCard } from "./DecisionCard";
import { Decisions } from "./Decisions";
import { decisionEndText } from "./text";

const posted = vi.fn<(path: string, body: unknown) => void>();
let answer: (request: Request) => Response;

beforeEach(() => {
  posted.mockReset();
  answer = () => Response.json(sampleDecision({ status: "answered" }));
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") posted(new URL(request.url).pathname, await request.json());
    return answer(request);
  });
});

afterEach(cleanup);

function show(children: ReactNode): void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  render(<QueryClientProvider client={client}>{children}</QueryClientProvider>);
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const card = (decision: Decision, onAnsweredElsewhere = () => undefined) =>
  show(<DecisionCard decision={decision} onAnsweredElsewhere={onAnsweredElsewhere} />);
const kept = (decision: Decision) => attentionItems([], [], new Set(), { decisions: [decision], quarantined: [] });

it("shows everything that the answer depends on", () => {
  card(sampleDecision({ badges: ["timed_out"] }));
  const shown = screen.getByRole("article", { name: "May ExecCommand be used?" }).textContent;
  for (const part of [
    "main",
    "High",
    "Overdue",
    "ExecCommand rm -r build",
    "Blast radius",
    "then its severity rises",
  ]) {
    expect(shown).toContain(part);
  }
  expect(screen.getByRole("button", { name: "Approve" }).getAttribute("aria-describedby")).toBeTruthy();
  expect(screen.getByRole("link", { name: "View run" }).getAttribute("href")).toBe("/agents/main/runs/r");
});

it("answers the version on the screen, with an optional note", async () => {
  card(sampleDecision({ version: 3 }));
  press("Approve");
  await screen.findByText(/Answered\. The run continues\./);
  expect(posted).toHaveBeenCalledExactlyOnceWith("/api/decisions/d1/answer", { option: "approve", version: 3 });
  cleanup();
  card(sampleDecision());
  fireEvent.change(screen.getByLabelText(/^Note/), { target: { value: " not today " } });
  press("Deny");
  await waitFor(() =>
    expect(posted).toHaveBeenLastCalledWith("/api/decisions/d1/answer", {
      option: "deny",
      version: 1,
      note: "not today",
    }),
  );
});

it("cannot approve before the whole input is shown", async () => {
  const begins = `{"cmd":"${"true harmless; ".repeat(12)}…`;
  const whole = `{"cmd":"${"true harmless; ".repeat(60)}rm -rf everything"}`;
  let arrive: (response: Response) => void = () => undefined;
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (arrive = resolve)));
  card(sampleDecision({ input: begins, is_input_cut: true }));
  const approve = () => screen.getByRole<HTMLButtonElement>("button", { name: "Approve" });
  expect(screen.getByText(/Only the beginning is shown/)).toBeTruthy();
  expect([approve().disabled, screen.getByRole<HTMLButtonElement>("button", { name: "Deny" }).disabled]).toEqual([
    true,
    false,
  ]);
  await waitFor(() => expect(screen.getByText(/Loading the rest/)).toBeTruthy());
  arrive(Response.json(sampleDecision({ input: whole })));
  await waitFor(() => expect(screen.getByLabelText("Arguments").textContent).toBe(`ExecCommand ${whole}`));
  expect(approve().disabled).toBe(false);
  expect(screen.queryByText(/Only the beginning is shown/)).toBeNull();
  expect(screen.getByText(new RegExp(`All ${whole.length} characters`))).toBeTruthy();
});

it("cannot approve input that cannot be shown, and says why", async () => {
  const begins = sampleDecision({ input: "{…", is_input_cut: true });
  answer = () => Response.json({ ...begins, input_gone: "unreadable" });
  card(begins);
  await screen.findByText(/cannot be read/);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Approve" }).disabled).toBe(true);
  cleanup();
  answer = () =>
    Response.json({ error: { code: "storage_failed", message: "the disk fails", hint: "" } }, { status: 500 });
  card(begins);
  expect((await screen.findByRole("alert")).textContent).toContain("The disk fails");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Approve" }).disabled).toBe(true);
});

it("names where to answer when the page may not", () => {
  card(sampleDecision({ may_answer: ["api"] }));
  expect(screen.getByText(/This page cannot answer this decision\. Answer it with/)).toBeTruthy();
  for (const name of ["Approve", "Deny"])
    expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
});

it("marks the recommended option", () => {
  card(sampleDecision({ recommended_option_id: "deny" }));
  expect(screen.getByRole("button", { name: "Deny (recommended)" }).className).toContain("primary");
  expect(screen.getByRole("button", { name: "Approve" }).className).not.toContain("primary");
});

it("shows an answer given elsewhere until it is dismissed", async () => {
  const theirs = sampleDecision({
    status: "answered",
    answer: { option: "deny", channel: "cli", note: "no", at: "2026-01-01T00:00:00Z" },
  });
  const error = { code: "decision_closed", message: "the decision is answered already", hint: "" };
  answer = (request) => (request.method === "POST" ? Response.json({ error }, { status: 409 }) : Response.json(theirs));
  show(<NeedsAttention items={kept(sampleDecision())} onDismiss={() => undefined} />);
  press("Approve");
  await screen.findByText(/Answered elsewhere/);
  expect(screen.getByText(/“Deny” was chosen on the command line\. Note: “no”/)).toBeTruthy();
  press("Dismiss");
  await waitFor(() => expect(screen.queryByText(/Answered elsewhere/)).toBeNull());
});

it("shows that a decision changed and keeps it open", async () => {
  const error = {
    code: "decision_changed",
    message: "the decision has version 2, the answer was given to version 1",
    hint: "read it again",
  };
  answer = () => Response.json({ error }, { status: 409 });
  card(sampleDecision());
  press("Approve");
  expect((await screen.findByRole("alert")).textContent).toContain("The decision has version 2");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Approve" }).disabled).toBe(false);
});

it("a decision is in the briefing and cannot be dismissed", () => {
  show(<NeedsAttention items={kept(sampleDecision())} onDismiss={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs attention" }).textContent).toContain("May ExecCommand be used?");
  expect(screen.queryByRole("button", { name: "Dismiss" })).toBeNull();
});

it("resumes or abandons a quarantined run", async () => {
  const run = {
    run_key: "r9",
    agent_id: "main",
    status: "quarantined" as const,
    transitions: 4,
    counts: sampleRun().counts,
    started_at: "2026-01-01T00:00:00Z",
    fault: "its state cannot be read",
  };
  answer = () => Response.json({});
  show(
    <NeedsAttention
      items={attentionItems([], [], new Set(), { decisions: [], quarantined: [run] })}
      onDismiss={() => undefined}
    />,
  );
  expect(screen.getByText(/Its state cannot be read/)).toBeTruthy();
  vi.stubGlobal("fetch", async (request: Request) => {
    posted(new URL(request.url).pathname, null);
    return Response.json({});
  });
  press("Resume run");
  await waitFor(() => expect(posted).toHaveBeenCalledWith("/api/runs/r9/resume", null));
  await waitFor(() =>
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Abandon run" }).disabled).toBe(false),
  );
  press("Abandon run");
  await waitFor(() => expect(posted).toHaveBeenCalledWith("/api/runs/r9/abandon", null));
});

it("renders nothing without decisions", () => {
  show(<Decisions decisions={[]} />);
  expect(screen.queryByRole("region")).toBeNull();
});

it("has a text for every end of a decision", () => {
  const answered = { option: "approve", channel: "page" as const, at: "2026-01-01T00:00:00Z" };
  expect(decisionEndText(sampleDecision({ status: "answered", answer: answered }))).toBe(
    "“Approve” was chosen on the page.",
  );
  expect(decisionEndText(sampleDecision({ status: "cancelled" }))).toContain("Not answered before the deadline");
  expect(decisionEndText(sampleDecision({ status: "withdrawn" }))).toContain("The run ended");
});
