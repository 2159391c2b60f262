import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { limitsQuery } from "../api/queries";
import { sampleLimit } from "../api/samples";
import type { BudgetLimit } from "../api/types";
import { ClockContext } from "../ui/clock";
import { instantClock } from "../ui/clockSamples";
import { Limits } from "./Limits";
import { amountText, parseAmount } from "./limit";

const sent = vi.fn<(method: string, url: string, body: unknown) => void>();

beforeEach(() => {
  sent.mockReset();
  vi.stubGlobal("fetch", async (request: Request) => {
    const body = request.method === "POST" ? await request.json() : undefined;
    if (request.method !== "GET") sent(request.method, new URL(request.url).pathname, body);
    return Response.json(request.method === "GET" ? [] : sampleLimit());
  });
});

afterEach(cleanup);

function show(limits: BudgetLimit[], agentId?: string) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  client.setQueryData(limitsQuery.queryKey, limits);
  render(
    <ClockContext value={instantClock}>
      <QueryClientProvider client={client}>
        <Limits agentId={agentId} />
      </QueryClientProvider>
    </ClockContext>,
  );
}

it("shows a limit as a meter with a forecast", () => {
  show([sampleLimit({ reserved: 500, exhausted_at: "2026-01-20T00:00:00Z" })]);
  const meter = screen.getByRole("meter");
  expect(meter.getAttribute("aria-valuetext")).toBe(
    "4,000 tokens of 10,000 tokens a month, 500 tokens reserved, 45 percent",
  );
  expect(screen.getByText(/^At the present rate it is used up at/)).toBeTruthy();
});

it("says that a limit is used up instead of a forecast", () => {
  show([sampleLimit({ used: 10_000, exhausted_at: "2026-01-20T00:00:00Z" })]);
  expect(screen.getByText("used up")).toBeTruthy();
  expect(screen.queryByText(/^At the present rate/)).toBeNull();
});

it("leaves daily caps and limits of other agents out", () => {
  const limits = [
    sampleLimit({ limit_id: "a", resource: "money", period: "daily" }),
    sampleLimit({ limit_id: "b", subject: "other" }),
    sampleLimit({ limit_id: "c", scope: "session", subject: "main/cli", period: "lifetime" }),
    sampleLimit({ limit_id: "d", scope: "all", subject: undefined }),
  ];
  show(limits, "main");
  expect(screen.getAllByRole("meter").map((meter) => meter.getAttribute("aria-label"))).toEqual([
    "Used of the limit: Tokens, session main/cli",
    "Used of the limit: Tokens, all agents",
  ]);
});

it("changes a limit", async () => {
  show([sampleLimit()]);
  fireEvent.click(screen.getByRole("button", { name: "Change limit" }));
  fireEvent.change(await screen.findByLabelText(/^New limit/), { target: { value: "-5" } });
  fireEvent.click(screen.getByRole("button", { name: "Save limit" }));
  expect(screen.getByRole("alert").textContent).toBe("Not a valid amount.");
  fireEvent.change(screen.getByLabelText(/^New limit/), { target: { value: "20000" } });
  fireEvent.click(screen.getByRole("button", { name: "Save limit" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(sent).toHaveBeenCalledExactlyOnceWith("POST", "/api/budget/limits/990c69c2f23b", { max: 20_000 });
});

it("sets a limit on an agent", async () => {
  show([], "main");
  expect(screen.getByText("None besides the daily cap.")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Set a limit" }));
  fireEvent.change(await screen.findByLabelText("What is limited"), { target: { value: "run_time" } });
  fireEvent.change(screen.getByLabelText("Period"), { target: { value: "monthly" } });
  fireEvent.click(screen.getByRole("button", { name: "Save limit" }));
  expect(screen.getByRole("alert").textContent).toBe("Not a valid amount.");
  fireEvent.change(screen.getByLabelText("New limit"), { target: { value: "2h" } });
  fireEvent.click(screen.getByRole("button", { name: "Save limit" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  const limit = { scope: "agent", subject: "main", resource: "run_time", period: "monthly", max: 7_200_000 };
  expect(sent).toHaveBeenCalledExactlyOnceWith("POST", "/api/budget/limits", limit);
});

it("removes a limit", async () => {
  show([sampleLimit()]);
  fireEvent.click(screen.getByRole("button", { name: "Change limit" }));
  fireEvent.click(await screen.findByRole("button", { name: "Remove limit" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(sent).toHaveBeenCalledExactlyOnceWith("DELETE", "/api/budget/limits/990c69c2f23b", undefined);
});

it("parses what it formats, and nothing outside its unit", () => {
  expect(parseAmount("run_time", "15m")).toBe(900_000);
  expect(parseAmount("written_bytes", "2GiB")).toBe(2 ** 31);
  expect(parseAmount("money", "2.50")).toBe(2_500_000);
  expect(["-1", "1.5", "5 m", "1x", "", "9".repeat(20)].map((text) => parseAmount("tokens", text))).toEqual(
    Array.from({ length: 6 }, () => undefined),
  );
  expect(amountText("run_time", 90_000)).toBe("90 s");
  expect(amountText("money", 2_500_000)).toBe("$2.50");
});
