import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleDecision, sampleRunSummary } from "../api/samples";
import type { Decision } from "../api/types";
import { NeedsAttention } from "../briefing/NeedsAttention";
import { ClockContext } from "../ui/clock";
import { handClock } from "../ui/clockSamples";
import { ARMING_MS } from "../ui/useArming";
import { HELD_MS } from "../ui/useHeldHeight";
import { DecisionCard } from "./DecisionCard";
import { Decisions } from "./Decisions";
import { answerElsewhereText, decisionEndText } from "./text";

const posted = vi.fn<(path: string, body: unknown) => void>();
let answer: (request: Request) => Response;

beforeEach(() => {
  time = handClock();
  posted.mockReset();
  answer = () => Response.json(sampleDecision({ status: "answered" }));
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") posted(new URL(request.url).pathname, await request.json());
    return answer(request);
  });
});

afterEach(cleanup);

let time = handClock();
const pass = (ms: number) => act(() => time.pass(ms));

/** Shows components, and lets the time pass after which buttons accept clicks. Returns a function that shows others. */
function show(children: ReactNode): (next: ReactNode) => void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  const around = (shown: ReactNode) => (
    <ClockContext value={time.clock}>
      <QueryClientProvider client={client}>{shown}</QueryClientProvider>
    </ClockContext>
  );
  const { rerender } = render(around(children));
  pass(ARMING_MS);
  return (next) => rerender(around(next));
}

/** Lets requests that were started reach the server. */
const settle = () => act(() => new Promise<void>((resolve) => setTimeout(resolve)));

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });
const press = (name: string) => fireEvent.click(button(name));
const ignore = () => undefined;
const card = (decision: Decision) => show(<DecisionCard decision={decision} isGone={false} onDismiss={ignore} />);
const kept = (...decisions: Decision[]) =>
  decisions.map((decision) => ({ kind: "pending_decision", decision }) as const);
const briefing = (...decisions: Decision[]) => <NeedsAttention items={kept(...decisions)} onDismiss={ignore} />;
/** The titles of all cards, from top to bottom. */
const titles = () => screen.getAllByRole("article").map((one) => one.querySelector("h3")?.textContent);

it("shows how far an action reaches where it is known, and no link to the page that it is on", () => {
  history.replaceState(null, "", "/agents/main/runs/r");
  card(sampleDecision({ blast_radius: "small" }));
  expect(screen.getByRole("article").textContent).toContain("small: one thing");
  expect(screen.queryByRole("link", { name: "View run" })).toBeNull();
  history.replaceState(null, "", "/");
});

it("shows everything that the answer depends on", () => {
  card(sampleDecision({ badges: ["timed_out"] }));
  const shown = screen.getByRole("article", { name: "May ExecCommand be used?" }).textContent;
  for (const part of ["main", "High", "Overdue", "ExecCommand rm -r build", "then its severity rises"]) {
    expect(shown).toContain(part);
  }
  expect(shown).not.toContain("Blast radius");
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
  expect(screen.getByText(/This page cannot answer this decision\. Answer it from a program/)).toBeTruthy();
  for (const name of ["Approve", "Deny"])
    expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
});

it("names the command for the command line, and a program for the API", () => {
  expect(answerElsewhereText(sampleDecision({ may_answer: ["cli", "api"] }))).toBe(
    "This page cannot answer this decision. Answer it with `wakeful decision answer`, or from a program with the API token.",
  );
  expect(answerElsewhereText(sampleDecision({ may_answer: ["cli", "page"] }))).toBeUndefined();
});

it("asks why a decision is needed", () => {
  card(sampleDecision());
  expect(screen.getByText("Why?").closest("article")).toBe(screen.getByRole("article"));
});

it("shows the resolved targets that the approval holds for", () => {
  card(sampleDecision({ targets: ["write /etc/hosts (outside)", "host example.com:443\u202e (unlisted)"] }));
  const places = screen.getByText("It acts on").parentElement as HTMLElement;
  expect([...places.querySelectorAll("li")].map((one) => one.textContent)).toEqual([
    "write /etc/hosts (outside)",
    expect.stringMatching(/^host example\.com:443[^\u202e]+ \(unlisted\)$/),
  ]);
  cleanup();
  card(sampleDecision());
  expect(screen.queryByText("It acts on")).toBeNull();
});

it("marks the recommended option", () => {
  card(sampleDecision({ recommended_option_id: "deny" }));
  expect(button("Deny (recommended)").className).toContain("recommended");
  expect(button("Approve").className).not.toContain("recommended");
});

it("approve and deny look different", () => {
  card(sampleDecision());
  const look = (name: string) => [button(name).className.trim(), button(name).querySelector("path")?.getAttribute("d")];
  expect(look("Approve")[0]).toBe("button approve");
  expect(look("Deny")[0]).toBe("button deny");
  expect(look("Approve")[1]).not.toBe(look("Deny")[1]);
});

it("a new card ignores clicks and keys until it is armed", async () => {
  const showNext = show(briefing(sampleDecision()));
  showNext(briefing(sampleDecision(), sampleDecision({ decision_id: "d2", title: "And this?" })));
  const second = () => screen.getAllByRole<HTMLButtonElement>("button", { name: "Approve" })[1]!;
  const states = () =>
    screen.getAllByRole("button", { name: "Approve" }).map((one) => one.getAttribute("aria-disabled"));
  expect(states()).toEqual([null, "true"]);
  pass(699);
  fireEvent.click(second());
  await settle();
  expect(posted).not.toHaveBeenCalled();
  pass(1);
  expect(states()).toEqual([null, null]);
  fireEvent.click(second());
  await waitFor(() => expect(posted).toHaveBeenCalledOnce());
  expect(posted.mock.calls[0]?.[0]).toBe("/api/decisions/d2/answer");
});

it("a card that moved ignores clicks until it is armed again", async () => {
  card(sampleDecision());
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(new DOMRect(0, 300, 10, 10));
  press("Approve");
  await settle();
  expect(posted).not.toHaveBeenCalled();
  pass(ARMING_MS);
  press("Approve");
  await waitFor(() => expect(posted).toHaveBeenCalledOnce());
});

it("a changed decision is armed anew and keeps its note", () => {
  const showNext = card(sampleDecision());
  fireEvent.change(screen.getByLabelText(/^Note/), { target: { value: "careful" } });
  showNext(<DecisionCard decision={sampleDecision({ version: 2 })} isGone={false} onDismiss={ignore} />);
  expect(button("Approve").getAttribute("aria-disabled")).toBe("true");
  expect(screen.getByLabelText<HTMLInputElement>(/^Note/).value).toBe("careful");
});

it("an answered card keeps its place without buttons to answer", async () => {
  const second = sampleDecision({ decision_id: "d2", title: "And this?" });
  answer = () =>
    Response.json(
      sampleDecision({
        status: "answered",
        answer: { option: "approve", channel: "page", at: "2026-01-01T00:00:00Z" },
      }),
    );
  const showNext = show(briefing(sampleDecision(), second));
  fireEvent.click(screen.getAllByRole("button", { name: "Approve" })[0]!);
  await screen.findByText(/Answered\. The run continues\./);
  showNext(briefing(second));
  expect(titles()).toEqual(["May ExecCommand be used?", "And this?"]);
  const [first] = screen.getAllByRole("article");
  expect(first?.textContent).toContain("“Approve” was chosen on the page.");
  expect(first?.querySelectorAll("button:not([aria-disabled='true'])")).toHaveLength(0);
});

it("a double click sends one answer", async () => {
  card(sampleDecision());
  press("Approve");
  press("Approve");
  await screen.findByText(/Answered\. The run continues\./);
  await settle();
  expect(posted).toHaveBeenCalledOnce();
});

it("a more urgent decision comes after the cards on the screen", () => {
  const showNext = show(briefing(sampleDecision({ title: "First?" })));
  showNext(briefing(sampleDecision({ decision_id: "d2", title: "Urgent?" }), sampleDecision({ title: "First?" })));
  expect(titles()).toEqual(["First?", "Urgent?"]);
});

it("shows an answer given elsewhere until it is dismissed", async () => {
  const theirs = sampleDecision({
    status: "answered",
    answer: { option: "deny", channel: "cli", note: "no", at: "2026-01-01T00:00:00Z" },
  });
  const error = { code: "decision_closed", message: "the decision is answered already", hint: "" };
  answer = (request) => (request.method === "POST" ? Response.json({ error }, { status: 409 }) : Response.json(theirs));
  const showNext = show(briefing(sampleDecision()));
  press("Approve");
  await screen.findByText(/Answered elsewhere/);
  showNext(briefing());
  expect(screen.getByText(/“Deny” was chosen on the command line\. Note: “no”/)).toBeTruthy();
  press("Done with this");
  expect(screen.getByText(/Answered elsewhere/)).toBeTruthy();
  pass(ARMING_MS);
  press("Done with this");
  await waitFor(() => expect(screen.queryByText(/Answered elsewhere/)).toBeNull());
});

it("shows how a decision ended that left the list", async () => {
  answer = () => Response.json(sampleDecision({ status: "withdrawn" }));
  const showNext = show(<Decisions decisions={[sampleDecision()]} />);
  showNext(<Decisions decisions={[]} />);
  await screen.findByText(/The run ended before the decision was answered/);
  expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
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
  show(briefing(sampleDecision()));
  expect(screen.getByRole("region", { name: "Needs attention" }).textContent).toContain("May ExecCommand be used?");
  expect(screen.queryByRole("button", { name: "Done with this" })).toBeNull();
});

it("resumes or abandons a quarantined run", async () => {
  const run = sampleRunSummary({ run_key: "r9", status: "quarantined", fault: "its state cannot be read" });
  answer = () => Response.json({});
  show(<NeedsAttention items={[{ kind: "quarantined_run", run }]} onDismiss={() => undefined} />);
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

it("an answered card keeps its height for a moment and under the pointer", async () => {
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue({ top: 0, height: 300 } as DOMRect);
  card(sampleDecision());
  const place = screen.getByRole("article").parentElement as HTMLElement;
  fireEvent.pointerEnter(place);
  press("Approve");
  await screen.findByText("Answered. The run continues.");
  fireEvent.pointerLeave(place);
  pass(HELD_MS - 1);
  expect(place.style.minHeight).toBe("300px");
  fireEvent.pointerEnter(place);
  pass(1);
  expect(place.style.minHeight).toBe("300px");
  fireEvent.pointerLeave(place);
  expect(place.style.minHeight).toBe("");
  vi.restoreAllMocks();
});
