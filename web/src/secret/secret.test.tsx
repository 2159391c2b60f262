import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleAgent } from "../api/samples";
import type { SandboxScope, Secret } from "../api/types";
import SecretsPage from "./SecretsPage";

afterEach(cleanup);

const stored: Secret = { name: "DEPLOY_TOKEN", key_handle: "keyring:wakeful/DEPLOY_TOKEN", agents: ["main"] };
const broken: Secret = {
  name: "OLD_KEY",
  key_handle: "file:/home/you/key",
  agents: [],
  problem: "the file does not exist; run `wakeful secret set OLD_KEY`",
};
const value = "tok-4f2a9c81";

interface Server {
  secrets?: readonly Secret[];
  sandbox?: Record<string, SandboxScope>;
  /** Answers a request that changes something, instead of the server's usual response. */
  refuse?: (method: string, path: string) => Response | undefined;
}

/** The requests that changed something, in their order. */
function show({ secrets = [stored, broken], sandbox = {}, refuse }: Server = {}) {
  const sent: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    const { method } = request;
    if (method !== "GET") {
      const text = await request.text();
      sent.push([method, pathname, ...(text === "" ? [] : [JSON.parse(text)])]);
      const refused = refuse?.(method, pathname);
      if (refused) return refused;
    }
    if (pathname === "/api/secrets") return Response.json(secrets);
    if (pathname === "/api/agents")
      return Response.json({ agents: ["main", "coach"].map((agent_id) => sampleAgent({ agent_id })) });
    if (pathname.startsWith("/api/secrets/")) return Response.json({ ...stored, name: pathname.slice(13), agents: [] });
    return Response.json({ sandbox: sandbox[pathname.split("/")[3] ?? ""] ?? {} });
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <SecretsPage />
    </QueryClientProvider>,
  );
  return sent;
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name, hidden: true }));
const field = (label: string) => screen.getByLabelText(label) as HTMLInputElement;
const type = (label: string, text: string) => fireEvent.change(field(label), { target: { value: text } });
const failed = () => Response.json({ error: { code: "busy", message: "the database is busy" } }, { status: 409 });

/** Opens the form for a new secret, when the lists are there. */
async function add() {
  await screen.findByText("DEPLOY_TOKEN");
  press("Store secret");
  await screen.findByLabelText("coach");
}

it("lists where secrets are stored, which agents may use them, and problems", async () => {
  show();
  await screen.findByText("DEPLOY_TOKEN");
  const [first, second] = screen.getAllByRole("listitem") as [HTMLElement, HTMLElement];
  for (const text of ["available", "keyring:wakeful/DEPLOY_TOKEN", "May be used by main."])
    within(first).getByText(text);
  for (const text of ["not available", "file:/home/you/key", "No agent may use it."]) within(second).getByText(text);
  expect(second.textContent).toContain("The file does not exist; run wakeful secret set OLD_KEY.");
});

it("says that no secret is stored", async () => {
  show({ secrets: [] });
  await screen.findByText("No secrets yet");
});

it("stores a secret, then adds it to the chosen agents' sandboxes", async () => {
  const sent = show({ sandbox: { coach: { allowed_hosts: ["a.example"], allowed_secrets: ["Z_KEY"] } } });
  await add();
  expect(field("Value").type).toBe("password");
  type("Name", "NEW_KEY");
  type("Value", ` ${value} `);
  fireEvent.click(screen.getByLabelText("coach"));
  press("Save");
  expect(field("Value").value).toBe("");
  await waitFor(() => expect(screen.queryByLabelText("Value")).toBeNull());
  expect(sent).toEqual([
    ["POST", "/api/secrets/NEW_KEY", { value }],
    [
      "POST",
      "/api/agents/coach/settings",
      { sandbox: { allowed_hosts: ["a.example"], allowed_secrets: ["NEW_KEY", "Z_KEY"] } },
    ],
  ]);
});

it("refuses names and values that the server would refuse", async () => {
  const sent = show();
  await add();
  type("Name", "new key");
  type("Value", "short");
  press("Save");
  await screen.findByText(/^Use upper-case letters/);
  await screen.findByText("Enter a value of 8 to 8,192 bytes.");
  type("Name", "DEPLOY_TOKEN");
  type("Value", value);
  await screen.findByText(/^A secret with this name is stored already/);
  press("Save");
  expect(sent).toEqual([]);
});

it("needs no value again when only an agent could not be changed", async () => {
  let isBusy = true;
  const sent = show({ refuse: (_, path) => (isBusy && path.startsWith("/api/agents/") ? failed() : undefined) });
  await add();
  type("Name", "NEW_KEY");
  type("Value", value);
  fireEvent.click(screen.getByLabelText("main"));
  press("Save");
  await screen.findByText("The database is busy.");
  expect(field("Name").disabled).toBe(true);
  isBusy = false;
  press("Save");
  await waitFor(() => expect(screen.queryByLabelText("Value")).toBeNull());
  const change = ["POST", "/api/agents/main/settings", { sandbox: { allowed_secrets: ["NEW_KEY"] } }];
  expect(sent).toEqual([["POST", "/api/secrets/NEW_KEY", { value }], change, change]);
});

it("changes the agents of a secret and keeps its value", async () => {
  const sent = show({ sandbox: { main: { allowed_secrets: ["DEPLOY_TOKEN"] } } });
  await screen.findByText("DEPLOY_TOKEN");
  press("Change DEPLOY_TOKEN");
  await screen.findByLabelText("coach");
  expect(field("main").checked).toBe(true);
  fireEvent.click(screen.getByLabelText("main"));
  fireEvent.click(screen.getByLabelText("coach"));
  press("Save");
  await waitFor(() => expect(screen.queryByLabelText("Value")).toBeNull());
  expect(sent).toEqual([
    ["POST", "/api/agents/coach/settings", { sandbox: { allowed_secrets: ["DEPLOY_TOKEN"] } }],
    ["POST", "/api/agents/main/settings", { sandbox: { allowed_secrets: [] } }],
  ]);
});

it("removes a secret only after a confirmation", async () => {
  const sent = show();
  await screen.findByText("DEPLOY_TOKEN");
  press("Remove DEPLOY_TOKEN");
  expect(sent).toEqual([]);
  screen.getByText(/^Commands that name it are denied from then on/);
  press("Remove secret");
  await waitFor(() => expect(sent).toEqual([["DELETE", "/api/secrets/DEPLOY_TOKEN"]]));
  await waitFor(() => expect(screen.queryByText("Remove secret")).toBeNull());
});
