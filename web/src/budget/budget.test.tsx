import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keys } from "../api/keys";
import { budgetQuery } from "../api/queries";
import { sampleBudget, sampleParked, sampleRunSummary } from "../api/samples";
import type { Budget } from "../api/types";
import { NeedsAttention } from "../briefing/NeedsAttention";
import { ClockContext } from "../ui/clock";
import { instantClock } from "../ui/clockSamples";
import { AgentCost } from "./AgentCost";
import { ParkedCard } from "./ParkedCard";
import { SpendingToday } from "./SpendingToday";

const posted = vi.fn<(body: unknown) => void>();
let answer: () => Response;

beforeEach(() => {
  posted.mockReset();
  answer = () => Response.json(sampleBudget());
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") posted(await request.json());
    return answer();
  });
});

afterEach(cleanup);

function show(children: ReactNode, budget?: Budget): QueryClient {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  if (budget) client.setQueryData(budgetQuery.queryKey, budget);
  render(
    <ClockContext value={instantClock}>
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    </ClockContext>,
  );
  return client;
}

const meter = () => screen.getByRole("meter");
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const write = (amount: string) =>
  fireEvent.change(screen.getByLabelText(/^Dollars per day/), { target: { value: amount } });

it("shows spending against the cap, also to screen readers", () => {
  show(<SpendingToday budget={sampleBudget({ reserved_usd: "0.02" })} />);
  expect(screen.getByText("(default cap)")).toBeTruthy();
  expect(meter().getAttribute("aria-valuetext")).toBe("$0.31 of $5.00, $0.02 reserved, 6 percent");
  expect(meter().className).toBe("meter fine");
});

it("warns near and at the cap", () => {
  show(<SpendingToday budget={sampleBudget({ spent_usd: "4.01" })} />);
  expect(screen.getByText("near the cap")).toBeTruthy();
  expect(meter().className).toBe("meter near");
  cleanup();
  show(<SpendingToday budget={sampleBudget({ spent_usd: "5.00" })} />);
  expect(screen.getByText("cap reached")).toBeTruthy();
  expect(screen.getByText(/^Paid requests resume/)).toBeTruthy();
});

it("sets a cap and shows the response", async () => {
  const client = show(<SpendingToday budget={sampleBudget()} />);
  press("Change cap");
  write(" 7.50 ");
  answer = () => Response.json(sampleBudget({ daily_cap_usd: "7.50", cap_origin: "set" }));
  press("Set cap");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(posted).toHaveBeenCalledExactlyOnceWith({ daily_usd: "7.50" });
  expect(client.getQueryData(budgetQuery.queryKey)?.daily_cap_usd).toBe("7.50");
});

it("says what is wrong with an amount and does not send it", async () => {
  show(<SpendingToday budget={sampleBudget()} />);
  press("Change cap");
  write("2,50");
  press("Set cap");
  expect(screen.getByRole("alert").textContent).toContain("Not an amount");
  expect(screen.getByLabelText(/^Dollars per day/).getAttribute("aria-invalid")).toBe("true");
  write("2.50");
  press("Set cap");
  await waitFor(() => expect(posted).toHaveBeenCalled());
  expect(posted).toHaveBeenCalledExactlyOnceWith({ daily_usd: "2.50" });
});

it("shows why the server refused and keeps the input", async () => {
  show(<SpendingToday budget={sampleBudget()} />);
  press("Change cap");
  write("9");
  const error = { code: "bad_amount", message: "the cap is too large", hint: "give a smaller one" };
  answer = () => Response.json({ error }, { status: 400 });
  press("Set cap");
  await screen.findByText("The cap is too large.");
  expect(screen.getByText("Give a smaller one.")).toBeTruthy();
  expect(screen.getByLabelText<HTMLInputElement>(/^Dollars per day/).value).toBe("9");
});

it("offers the default only when a cap is set", async () => {
  show(<SpendingToday budget={sampleBudget()} />);
  press("Change cap");
  expect(screen.queryByRole("button", { name: "Use the default" })).toBeNull();
  cleanup();
  show(<SpendingToday budget={sampleBudget({ cap_origin: "set" })} />);
  press("Change cap");
  press("Use the default");
  await waitFor(() => expect(posted).toHaveBeenCalledExactlyOnceWith({ unset: true }));
});

it("shows costs by day, newest first, with the agent's cap", () => {
  const day = (name: string, spent: string, requests: number) => ({
    day: name,
    spent_usd: spent,
    reserved_usd: "0.00",
    requests,
  });
  const own = { agent_id: "main", spent_usd: "0.50", reserved_usd: "0.00", requests: 4, daily_cap_usd: "1.00" };
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(budgetQuery.queryKey, sampleBudget({ agents: [own] }));
  client.setQueryData(keys.agentSpending("main"), [day("2025-12-30", "2.00", 9), day("2026-01-01", "0.50", 1)]);
  render(
    <QueryClientProvider client={client}>
      <AgentCost agentId="main" />
    </QueryClientProvider>,
  );
  expect(screen.getAllByRole("listitem").map((line) => line.textContent)).toEqual([
    "Today$0.501 request",
    "Tue, Dec 30$2.009 requests",
  ]);
  expect(meter().getAttribute("aria-valuetext")).toBe("$0.50 of $1.00, 50 percent");
});

it("says why a run is parked, and raises its cap", async () => {
  show(<ParkedCard parked={sampleParked({ scope: "agent" })} agentId="main" />, sampleBudget());
  expect(screen.getByText(/^This agent may spend \$5\.00 a day\./)).toBeTruthy();
  expect(screen.getByText(/^or wait: the run continues automatically when the cap resets/)).toBeTruthy();
  press("Raise cap");
  write("6");
  press("Set cap");
  await waitFor(() => expect(posted).toHaveBeenCalledExactlyOnceWith({ agent_id: "main", daily_usd: "6" }));
});

it("does not offer to wait for a request that no day's cap covers", () => {
  const parked = sampleParked({ scope: "all", max: 5_000_000, used: 0, needed: 14_990_000 });
  show(<ParkedCard parked={parked} agentId="main" />, sampleBudget());
  expect(screen.getByRole("heading").textContent).toBe(
    "Waiting: the next request may cost up to $14.99, the cap is $5.00 a day",
  );
  expect(screen.queryByText(/or wait/)).toBeNull();
  expect(screen.getByText(/^It does not fit on another day either/)).toBeTruthy();
});

it("shows a parked run in the briefing without a dismiss button", () => {
  const item = { kind: "parked_run", run: sampleRunSummary(), parked: sampleParked() } as const;
  show(<NeedsAttention items={[item]} onDismiss={() => undefined} />, sampleBudget());
  expect(screen.getByText(/Waiting: the next request may cost up to \$0\.04, \$0\.02 of \$5\.00 is left/)).toBeTruthy();
  expect(screen.getByRole("button", { name: "Raise cap" })).toBeTruthy();
  expect(screen.getByText(/^or wait/).querySelector("time")?.dateTime).toBe("2026-01-02T00:00:00Z");
  expect(screen.queryByRole("button", { name: "Done with this" })).toBeNull();
  expect(screen.getByRole("link", { name: "View run" }).getAttribute("href")).toBe("/agents/main/runs/r");
});
