import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AgentSettings } from "../api/types";
import EditAgentPage from "./EditAgentPage";

beforeEach(() => sessionStorage.clear());
afterEach(cleanup);

const settings: AgentSettings = {
  agent_id: "main",
  description: "",
  ask_tools: [],
  ask_tools_of_all_agents: [],
  deny_tools: [],
  may_start: [],
  workspace: "/home/you",
  permission_mode: "standard",
  sandbox: {},
  tool_quotas: { ExecCommand: { max_per_day: 5 } },
  web_search: false,
  guardrails: {},
  allowed_category_ids: ["*"],
};

async function edit(over: Partial<AgentSettings> = {}) {
  const sent = vi.fn<(body: unknown) => void>();
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    if (request.method === "POST") sent(await request.json());
    if (pathname.endsWith("/settings")) return Response.json({ ...settings, ...over });
    if (pathname === "/api/models" || pathname === "/api/providers/local") return Response.json([]);
    return Response.json({ agents: [], categories: [], tools: ["ExecCommand", "ReadFile"] });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <EditAgentPage agentId="main" />
    </QueryClientProvider>,
  );
  await screen.findByLabelText("Uses of ReadFile in 24 hours");
  return sent;
}

const save = () => fireEvent.click(screen.getByRole("button", { name: "Save" }));
const limit = (label: string) => screen.getByLabelText(label) as HTMLInputElement;
const box = (label: string) => screen.getByLabelText(label) as HTMLInputElement;

it("shows and changes how often tools may be used", async () => {
  const sent = await edit();
  expect(limit("Uses of ExecCommand in 24 hours").value).toBe("5");
  expect(limit("Uses of ExecCommand in a conversation").value).toBe("");
  fireEvent.change(limit("Uses of ReadFile in a conversation"), { target: { value: "ten" } });
  save();
  await screen.findByText("Enter whole numbers from 1 to 1,000,000, or nothing, for ReadFile.");
  expect(limit("Uses of ReadFile in a conversation").getAttribute("aria-invalid")).toBe("true");
  expect(sent).not.toHaveBeenCalled();
  fireEvent.change(limit("Uses of ReadFile in a conversation"), { target: { value: "10" } });
  save();
  await waitFor(() =>
    expect(sent.mock.calls).toEqual([
      [{ tool_quotas: { ExecCommand: { max_per_day: 5 }, ReadFile: { max_per_session: 10 } } }],
    ]),
  );
});

it("checks every capability unless the agent has only some", async () => {
  await edit();
  expect(box("run commands in the sandbox").checked).toBe(true);
  expect(box("change ratings").checked).toBe(true);
  cleanup();
  await edit({ capabilities: ["fileRead"] });
  expect(box("read files of the workspace").checked).toBe(true);
  expect(box("run commands in the sandbox").checked).toBe(false);
});

it("sends the capabilities that are left, and requires one", async () => {
  const sent = await edit({ capabilities: ["fileRead", "webRead"] });
  fireEvent.click(box("read pages of the web"));
  fireEvent.click(box("read files of the workspace"));
  save();
  const error = await screen.findByText("Choose at least one: every agent needs a tool that it can use.");
  expect(error.closest("details")?.open).toBe(true);
  fireEvent.click(box("read files of the workspace"));
  save();
  await waitFor(() => expect(sent.mock.calls).toEqual([[{ capabilities: ["fileRead"] }]]));
});

it("offers to use a refused model anyway, and shows that it is not verified", async () => {
  const sent = await edit();
  const error = {
    code: "model_unknown",
    message: "model: ollama has no model x",
    hint: "did you mean ollama/y? `--no-test` accepts it",
  };
  const fetchSettings = globalThis.fetch;
  vi.stubGlobal("fetch", async (request: Request) => {
    const isChange = request.method === "POST" && new URL(request.url).pathname.endsWith("/settings");
    if (!isChange) return fetchSettings(request);
    const body = await request.json();
    sent(body);
    if (!body.skip_model_test) return Response.json({ error }, { status: 409 });
    return Response.json({
      ...settings,
      model: body.model,
      model_warning: "model ollama/x is not verified: it is away",
    });
  });
  expect(screen.queryByLabelText("Use the models without asking their providers")).toBeNull();
  fireEvent.change(screen.getByLabelText("Model"), { target: { value: "ollama/x" } });
  save();
  await screen.findByText(/ollama has no model x.*Did you mean ollama\/y\?$/);
  fireEvent.click(screen.getByLabelText("Use the models without asking their providers"));
  save();
  await screen.findByText(/^Saved\..*Model ollama\/x is not verified/);
  expect(sent.mock.calls).toEqual([[{ model: "ollama/x" }], [{ model: "ollama/x", skip_model_test: true }]]);
});
