import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AuditEntry } from "../api/types";
import { replaceSearch } from "../shell/router";
import AuditPage from "./AuditPage";
import { filtersOf, requestOf, searchOf } from "./filters";

const RUN = "ab".repeat(32);
const ALL = { agent: "main", run: RUN, tool: "ExecCommand", decision: "deny", stage: "policy", period: "day" };

const denied: AuditEntry = {
  agent_id: "main",
  seq: 7,
  at: "2026-01-02T00:00:00.000Z",
  run_key: RUN,
  operation_id: RUN,
  tool: "WriteFile",
  decision: "deny",
  stage: "policy",
  rule: "denied_tool",
  reason: "the tool is on the list of denied tools",
  category: "out_of_scope",
};
const parked: AuditEntry = {
  agent_id: "main",
  seq: 6,
  at: "2026-01-01T00:00:00.000Z",
  tool: "",
  decision: "deny",
  stage: "quota",
  rule: "budget_exceeded",
  reason: "the day is spent",
};

beforeEach(() => replaceSearch(""));
afterEach(cleanup);

/** The queries of the requests for entries, each once. */
function show(answer: (query: URLSearchParams) => object) {
  const asked = new Set<string>();
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/api/agents") return Response.json({ agents: [] });
    if (pathname === "/api/events") return Response.json({ events: [], cursor: "c", has_more: false });
    asked.add(`${searchParams.get("decision")} ${searchParams.get("cursor")}`);
    return Response.json(answer(searchParams));
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <AuditPage />
    </QueryClientProvider>,
  );
  return asked;
}

it("keeps the filters in the address and asks the server for them", () => {
  expect(filtersOf(`?${searchOf(ALL)}`)).toEqual(ALL);
  expect(requestOf(ALL, Date.parse("2026-01-02T00:00:30Z"))).toEqual({
    agent_id: "main",
    run_key: RUN,
    tool: "ExecCommand",
    decision: "deny",
    stage: "policy",
    since: "2026-01-01T00:00:00.000Z",
  });
  expect(requestOf(filtersOf("?decision=maybe&stage=moon&run=abc"), 0)).toEqual({});
});

it("shows each entry with its decision, stage, rule and reason", async () => {
  show(() => ({ entries: [denied, parked] }));
  const row = (await screen.findByText("WriteFile")).closest("tr") as HTMLElement;
  for (const text of ["denied", "policy", "denied_tool", "main", RUN.slice(0, 12)]) within(row).getByText(text);
  expect(row.textContent).toContain("the tool is on the list of denied tools");
  const request = screen.getByText("model request").closest("tr") as HTMLElement;
  within(request).getByText("quota or budget");
});

it("filters by decision and continues with the cursor", async () => {
  const asked = show((query) => {
    if (query.get("cursor")) return { entries: [parked] };
    return { entries: [denied], ...(query.get("decision") ? { next_cursor: "1.main.7" } : {}) };
  });
  await screen.findByText("WriteFile");
  fireEvent.change(screen.getByLabelText("Decision"), { target: { value: "deny" } });
  fireEvent.click(await screen.findByRole("button", { name: "Show older" }));
  await screen.findByText("model request");
  expect([...asked]).toEqual(["null null", "deny null", "deny 1.main.7"]);
});
