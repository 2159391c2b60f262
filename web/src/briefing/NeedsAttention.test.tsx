import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleAgent, sampleBudget, sampleFailedRuns, sampleParked, sampleRunSummary } from "../api/samples";
import { ClockContext } from "../ui/clock";
import { handClock } from "../ui/clockSamples";
import { ARMING_MS } from "../ui/useArming";
import { NeedsAttention } from "./NeedsAttention";

beforeEach(() => vi.stubGlobal("fetch", async () => Response.json(sampleBudget())));
afterEach(cleanup);

let time = handClock();
const pass = (ms: number) => act(() => time.pass(ms));

/** Shows components, and lets the time pass after which buttons accept clicks. Returns a function that shows others. */
function show(children: ReactNode): (next: ReactNode) => void {
  time = handClock();
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

it("says that nothing needs attention", () => {
  show(<NeedsAttention items={[]} onDismiss={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs attention" }).textContent).toContain("Nothing needs attention.");
});

it("equal failures are one card that can be dismissed", () => {
  const onDismiss = vi.fn();
  show(<NeedsAttention items={[sampleFailedRuns()]} onDismiss={onDismiss} />);
  expect(screen.getByRole("article", { name: "2 runs failed" }).textContent).toContain("did not answer in time.");
  expect(screen.getByRole("link", { name: "View run" }).getAttribute("href")).toBe("/agents/main/runs/b");
  fireEvent.click(screen.getByRole("button", { name: "Done with this" }));
  expect(onDismiss).toHaveBeenCalledExactlyOnceWith(["b", "a"]);
});

const failures = (...codes: string[]) => codes.map((code) => sampleFailedRuns({ code, message: `${code} failed` }));
const unknown = { kind: "unknown_outcome", run: sampleRunSummary() } as const;
const parked = { kind: "parked_run", run: sampleRunSummary({ run_key: "p" }), parked: sampleParked() } as const;
const cards = () => screen.getAllByRole("listitem").map((one) => one.textContent ?? "");

it.each([
  ["Done with this", failures("first")],
  ["Done with this", [unknown]],
  ["Run again", failures("first")],
  ["Change model", failures("first")],
  ["Raise cap", [parked]],
] as const)("%s ignores clicks right after it appears or moves", async (name, items) => {
  const requests = vi.fn(() => Response.json({}));
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") return requests();
    return Response.json(request.url.includes("agents") ? { agents: [sampleAgent()] } : sampleBudget());
  });
  const onDismiss = vi.fn();
  const place = vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue({ top: 0 } as DOMRect);
  show(<NeedsAttention items={[...items]} onDismiss={onDismiss} />);
  const button = await screen.findByRole<HTMLButtonElement>("button", { name });
  await waitFor(() => expect(button.disabled).toBe(false));
  pass(ARMING_MS);
  place.mockReturnValue({ top: 200 } as DOMRect);
  fireEvent.click(button);
  pass(ARMING_MS - 1);
  fireEvent.click(button);
  await act(() => new Promise<void>((resolve) => setTimeout(resolve)));
  expect([onDismiss.mock.calls, requests.mock.calls, screen.queryAllByRole("dialog")]).toEqual([[], [], []]);
  pass(1);
  expect(button.getAttribute("aria-disabled")).toBeNull();
  place.mockRestore();
});

it("a card that was dismissed keeps its place until the pointer has left the list for a moment", () => {
  const [first, second] = failures("first", "second");
  const showNext = show(<NeedsAttention items={[first!, second!]} onDismiss={() => undefined} />);
  fireEvent.pointerEnter(screen.getByRole("list"));
  showNext(<NeedsAttention items={[second!]} onDismiss={() => undefined} />);
  pass(ARMING_MS * 3);
  expect(cards()).toEqual([expect.stringContaining("first failed"), expect.stringContaining("second failed")]);
  expect(screen.getByText("first failed").closest("[inert]")).toBeTruthy();
  expect(screen.getByText("second failed").closest("[inert]")).toBeNull();
  expect(screen.getByRole("status").textContent).toBe("Done");
  fireEvent.pointerLeave(screen.getByRole("list"));
  pass(ARMING_MS - 1);
  expect(cards()).toHaveLength(2);
  pass(1);
  expect(cards()).toEqual([expect.stringContaining("second failed")]);
});

it("a card without a pointer on the list leaves after a moment", () => {
  const showNext = show(<NeedsAttention items={[unknown]} onDismiss={() => undefined} />);
  showNext(<NeedsAttention items={[]} onDismiss={() => undefined} />);
  expect(cards()).toHaveLength(1);
  pass(ARMING_MS);
  expect(screen.getByText(/^Nothing needs attention/)).toBeTruthy();
});

it("runs the newest failed run again", async () => {
  const paths: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    paths.push(`${request.method} ${new URL(request.url).pathname}`);
    return Response.json({ run_key: "c", agent_id: "main", admission: "new" }, { status: 202 });
  });
  show(<NeedsAttention items={[sampleFailedRuns()]} onDismiss={() => undefined} />);
  fireEvent.click(screen.getByRole("button", { name: "Run again" }));
  await waitFor(() => expect(screen.getByRole("button", { name: "Queued again" })).toBeTruthy());
  expect(paths).toContain("POST /api/runs/b/retry");
});

it("says how many items are not shown", () => {
  const item = { kind: "unknown_outcome", run: sampleRunSummary() } as const;
  show(<NeedsAttention items={[item]} more={3} onDismiss={() => undefined} />);
  expect(screen.getByText("3 more items not shown.")).toBeTruthy();
});
