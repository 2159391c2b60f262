import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleAgent, sampleSchedule } from "../api/samples";
import NewAgentPage from "./NewAgentPage";

beforeEach(() => sessionStorage.clear());
afterEach(cleanup);

function create({ note, modelWarning }: { note?: string; modelWarning?: string } = {}): void {
  history.replaceState(null, "", "/setup/new-agent");
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    if (request.method === "GET")
      return Response.json(pathname === "/api/models" ? [] : { agents: [], categories: [], tools: [] });
    return Response.json(
      pathname === "/api/schedules"
        ? sampleSchedule(note ? { note } : {})
        : { ...sampleAgent(), model_warning: modelWarning },
      {
        status: 201,
      },
    );
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NewAgentPage />
    </QueryClientProvider>,
  );
  fireEvent.change(screen.getByLabelText(/^Name/), { target: { value: "main" } });
  fireEvent.click(screen.getByLabelText(/^Wake it on a schedule/));
  fireEvent.change(screen.getByLabelText(/^Message/), { target: { value: "look around" } });
  fireEvent.click(screen.getByRole("button", { name: "Create agent" }));
}

it("shows when firings of the first schedule are skipped before it opens the agent", async () => {
  create({ note: "firings are skipped while nothing changes" });
  await screen.findByText("Firings are skipped while nothing changes.");
  expect(location.pathname).toBe("/setup/new-agent");
  expect(screen.getByRole("link", { name: "Open main" }).getAttribute("href")).toBe("/agents/main");
});

it("opens a new agent at once when there is nothing to know", async () => {
  create();
  await vi.waitFor(() => expect(location.pathname).toBe("/agents/main"));
});

it("shows that the model of a new agent is not verified before it opens the agent", async () => {
  create({ modelWarning: "model ollama/x is not verified: ollama is away" });
  await screen.findByText("Model ollama/x is not verified: ollama is away.");
  expect(location.pathname).toBe("/setup/new-agent");
});
