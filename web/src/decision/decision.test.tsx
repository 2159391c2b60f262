import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleDecision } from "../api/samples";
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

it("shows everything that an answer depends on", () => {
  card(sampleDecision({ badges: ["timed_out"] }));
  const shown = screen.getByRole("article", { name: "May ExecCommand be used?" }).textContent;
  for (const words of [
    "main asks",
    "High",
    "Overdue",
    "ExecCommand rm -r build",
    "nobody knows how far",
    "then it grows more severe",
  ]) {
    expect(shown).toContain(words);
  }
  expect(screen.getByRole("button", { name: "Approve" }).getAttribute("aria-describedby")).toBeTruthy();
  expect(screen.getByRole("link", { name: "See what led to it" }).getAttribute("href")).toBe("/agents/main/runs/r");
});

it("answers the version that was read, with a note only where there is one", async () => {
  card(sampleDecision({ version: 3 }));
  press("Approve");
  await screen.findByText(/Answered\. The run goes on\./);
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

it("permits nothing that it has not shown to the end", async () => {
  const begins = `{"cmd":"${"true harmless; ".repeat(12)}…`;
  const whole = `{"cmd":"${"true harmless; ".repeat(60)}rm -rf everything"}`;
  let arrive: (response: Response) => void = () => undefined;
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (arrive = resolve)));
  card(sampleDecision({ input: begins, is_input_cut: true }));
  const approve = () => screen.getByRole<HTMLButtonElement>("button", { name: "Approve" });
  expect(screen.getByText(/only how it begins/)).toBeTruthy();
  expect([approve().disabled, screen.getByRole<HTMLButtonElement>("button", { name: "Deny" }).disabled]).toEqual([
    true,
    false,
  ]);
  await waitFor(() => expect(screen.getByText(/The rest is on its way/)).toBeTruthy());
  arrive(Response.json(sampleDecision({ input: whole })));
  await waitFor(() => expect(screen.getByLabelText("What it would be given").textContent).toBe(`ExecCommand ${whole}`));
  expect(approve().disabled).toBe(false);
  expect(screen.queryByText(/only how it begins/)).toBeNull();
  expect(screen.getByText(new RegExp(`all ${whole.length} characters`))).toBeTruthy();
});

it("does not permit what nobody can show, and says why", async () => {
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

it("takes no answer here where the settings say so, and tells where it is taken", () => {
  card(sampleDecision({ may_answer: ["api"] }));
  expect(screen.getByText(/This page may not answer it\. It is answered with `wakeful decision answer`/)).toBeTruthy();
  for (const name of ["Approve", "Deny"])
    expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
});

it("marks what is recommended", () => {
  card(sampleDecision({ recommended_option_id: "deny" }));
  expect(screen.getByRole("button", { name: "Deny (recommended)" }).className).toContain("primary");
  expect(screen.getByRole("button", { name: "Approve" }).className).not.toContain("primary");
});

it("shows what somebody else answered, and keeps it until it was seen", async () => {
  const theirs = sampleDecision({
    status: "answered",
    answer: { option: "deny", channel: "cli", note: "no", at: "2026-01-01T00:00:00Z" },
  });
  const error = { code: "decision_closed", message: "the decision is answered already", hint: "" };
  answer = (request) => (request.method === "POST" ? Response.json({ error }, { status: 409 }) : Response.json(theirs));
  show(<NeedsAttention items={kept(sampleDecision())} onDismiss={() => undefined} />);
  press("Approve");
  await screen.findByText(/Your answer came too late/);
  expect(screen.getByText(/Somebody answered “Deny” on the command line. They said: “no”/)).toBeTruthy();
  press("I have seen it");
  await waitFor(() => expect(screen.queryByText(/Your answer came too late/)).toBeNull());
});

it("says that a question changed, and does not take the answer for one to the new question", async () => {
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

it("stands first in the briefing and cannot be waved away", () => {
  show(<NeedsAttention items={kept(sampleDecision())} onDismiss={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs you" }).textContent).toContain("May ExecCommand be used?");
  expect(screen.queryByRole("button", { name: "Done with this" })).toBeNull();
});

it("lets a run that was set aside be tried again or given up", async () => {
  const run = {
    run_key: "r9",
    agent_id: "main",
    status: "quarantined" as const,
    transitions: 4,
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
  press("Try it again");
  await waitFor(() => expect(posted).toHaveBeenCalledWith("/api/runs/r9/retry", null));
  await waitFor(() =>
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Give it up" }).disabled).toBe(false),
  );
  press("Give it up");
  await waitFor(() => expect(posted).toHaveBeenCalledWith("/api/runs/r9/abandon", null));
});

it("draws nothing where nobody is asked", () => {
  show(<Decisions decisions={[]} />);
  expect(screen.queryByRole("region")).toBeNull();
});

it("has words for every end", () => {
  const answered = { option: "approve", channel: "page" as const, at: "2026-01-01T00:00:00Z" };
  expect(decisionEndText(sampleDecision({ status: "answered", answer: answered }))).toBe(
    "Somebody answered “Approve” on a page.",
  );
  expect(decisionEndText(sampleDecision({ status: "cancelled" }))).toContain("Nobody answered in time");
  expect(decisionEndText(sampleDecision({ status: "withdrawn" }))).toContain("The run ended");
});
