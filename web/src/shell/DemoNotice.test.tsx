import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { agentsQuery } from "../api/queries";
import { sampleAgent } from "../api/samples";
import type { AgentStatus } from "../api/types";
import { DemoNotice } from "./DemoNotice";

beforeEach(() => localStorage.clear());
afterEach(cleanup);

function show(agents: AgentStatus[]): void {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(agentsQuery.queryKey, agents);
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
});

it("stays dismissed", () => {
  show([]);
  fireEvent.click(screen.getByRole("button", { name: "Hide this notice" }));
  expect(notice()).toBeNull();
  cleanup();
  show([]);
  expect(notice()).toBeNull();
});
