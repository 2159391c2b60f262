import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleAgent, sampleModel } from "../api/samples";
import { AgentHeader } from "./AgentHeader";

beforeEach(() => {
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/api/models") return Response.json([sampleModel()]);
    if (pathname === "/api/providers/local") return Response.json([]);
    if (pathname.endsWith("/settings"))
      return Response.json({ sandbox: { allowed_secrets: ["A_KEY", "DEPLOY_TOKEN"] } });
    return Response.json(pathname === "/api/brake" ? { is_on: false, brakes: [] } : { model: { reference: "demo" } });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <AgentHeader agent={sampleAgent({ agent_id: "gym-coach" })} isParked={false} />
    </QueryClientProvider>,
  );
});
afterEach(cleanup);

it("links to the settings of the agent", () => {
  expect(screen.getByRole("link", { name: "Settings" }).getAttribute("href")).toBe("/setup/agents/gym-coach");
});

it("names the secrets that commands of the agent may receive", async () => {
  const names = await screen.findByText("A_KEY DEPLOY_TOKEN");
  expect(names.closest("div")?.textContent).toBe("SecretsA_KEY DEPLOY_TOKEN");
});

it("suggests models when the model is changed", async () => {
  fireEvent.click(screen.getByRole("button", { name: "Change model" }));
  const field = screen.getByRole<HTMLInputElement>("combobox", { name: /^Model/, hidden: true });
  await waitFor(() => expect(field.list?.options[0]?.value).toBe("openai/large"));
});
