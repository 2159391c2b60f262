import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
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

it("a new provider is shown as commands once its name and address are valid", () => {
  show(<AddProvider />);
  fireEvent.click(screen.getByRole("button", { name: "Add provider" }));
  const write = (label: string, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } });
  write("Name", "My work");
  write("Base URL", "models.example.org/v1");
  fireEvent.click(screen.getByRole("button", { name: "Show commands" }));
  expect(screen.getAllByRole("alert")).toHaveLength(2);
  write("Name", "work");
  write("Format", "anthropic");
  write("Base URL", "https://models.example.org/v1");
  fireEvent.click(screen.getByRole("button", { name: "Show commands" }));
  expect(document.querySelector(".code")?.textContent).toBe(
    "wakeful config set providers.work.kind anthropic\n" +
      "wakeful config set providers.work.base_url 'https://models.example.org/v1'\n",
  );
});
