import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { ModelProvider } from "../api/types";
import { AddProvider } from "./AddProvider";
import { ProviderRow } from "./ProviderRow";

afterEach(cleanup);

const local: ModelProvider = {
  name: "mine",
  is_built_in: false,
  is_local: true,
  kind: "openai-chat",
  base_url: "http://127.0.0.1:9000/v1",
  needs_key: false,
  has_key: false,
  models: [],
};

function show(children: React.ReactNode) {
  render(<QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>);
}

it("a configured server without a key can be given one", () => {
  show(<ProviderRow provider={local} />);
  expect(screen.queryByText("needs no key")).toBeNull();
  expect(screen.getByText("no key")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Set key mine" })).toBeTruthy();
});

it("the problem keeps the name as it is and leaves out the command beside the button", () => {
  const problem = "openai requires a key, but OPENAI_API_KEY is not set; store it with `wakeful models key set openai`";
  show(<ProviderRow provider={{ ...local, name: "openai", needs_key: true, problem }} />);
  expect(screen.getByText(/requires a key/).textContent).toBe("openai requires a key, but OPENAI_API_KEY is not set.");
});

it("a new provider is sent once its name and address are valid, and its key is forgotten", async () => {
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    const error = { code: "provider_exists", message: "provider: there is a provider work already", hint: "" };
    return bodies.length === 1 ? Response.json({ error }, { status: 409 }) : Response.json({ provider: local });
  });
  show(<AddProvider />);
  fireEvent.click(screen.getByRole("button", { name: "Add provider" }));
  const write = (label: string | RegExp, value: string) =>
    fireEvent.change(screen.getByLabelText(label), { target: { value } });
  const submit = () => fireEvent.click(screen.getAllByRole("button", { name: "Add provider" })[1] as HTMLElement);
  write("Name", "My work");
  write("Base URL", "models.example.org/v1");
  submit();
  expect(screen.getAllByRole("alert")).toHaveLength(2);
  expect(bodies).toEqual([]);
  write("Name", "work");
  write("Format", "anthropic");
  write("Base URL", "https://models.example.org/v1");
  write(/^Key/, " secret ");
  submit();
  await screen.findByText(/There is a provider work already|there is a provider work already/);
  expect((screen.getByLabelText(/^Key/) as HTMLInputElement).value).toBe("");
  const sent = { kind: "anthropic", base_url: "https://models.example.org/v1", skip_test: false };
  write("Name", "mine");
  submit();
  await screen.findByText(/mine is added/);
  expect(bodies).toEqual([
    { ...sent, provider: "work", key: "secret" },
    { ...sent, provider: "mine" },
  ]);
});
