import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { agentsQuery, runtimeQuery } from "../api/queries";
import { sampleAgent } from "../api/samples";
import type { AgentStatus, RuntimeStatus } from "../api/types";
import { DemoNotice } from "./DemoNotice";

beforeEach(() => localStorage.clear());
afterEach(cleanup);

function show(agents: AgentStatus[] | undefined, isDemo = true): void {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  if (agents) client.setQueryData(agentsQuery.queryKey, agents);
  const model = { reference: "demo", is_demo: isDemo };
  client.setQueryData(runtimeQuery.queryKey, { model } as unknown as RuntimeStatus);
  render(
    <QueryClientProvider client={client}>
      <DemoNotice />
    </QueryClientProvider>,
  );
}
const notice = () => screen.queryByRole("complementary", { name: "About the model" });

it("is shown while an agent uses the demo script, or there is none", () => {
  show([]);
  expect(notice()).toBeTruthy();
  cleanup();
  show([sampleAgent({ model: "openai/large" }), sampleAgent({ agent_id: "other" })]);
  expect(notice()).toBeTruthy();
  cleanup();
  show([sampleAgent({ model: "openai/large" })]);
  expect(notice()).toBeNull();
  cleanup();
  show([], false);
  expect(notice()).toBeNull();
});

it("keeps its last state while the page loads", () => {
  show(undefined);
  expect(notice()).toBeNull();
  cleanup();
  show([]);
  cleanup();
  show(undefined);
  expect(notice()).toBeTruthy();
});

it("stays dismissed", () => {
  show([]);
  fireEvent.click(screen.getByRole("button", { name: "Hide this notice" }));
  expect(notice()).toBeNull();
  cleanup();
  show([]);
  expect(notice()).toBeNull();
});
