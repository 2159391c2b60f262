import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { LocalProvider } from "../api/types";
import { LocalProviders } from "./LocalProviders";

afterEach(cleanup);

const ollama = { provider: "ollama", base_url: "http://127.0.0.1:11434/v1", models: ["ollama/small", "ollama/large"] };
const sent = vi.fn<(path: string, body: unknown) => void>();

function show(found: readonly LocalProvider[], response = () => Response.json([])) {
  sent.mockReset();
  vi.stubGlobal("fetch", async (request: Request) => {
    sent(new URL(request.url).pathname, await request.json());
    return response();
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <LocalProviders found={found} />
    </QueryClientProvider>,
  );
}
const use = () => fireEvent.click(screen.getByRole("button", { name: "Use this model" }));

it("makes a model of a found server the default", async () => {
  show([ollama]);
  fireEvent.change(screen.getByLabelText("Model of ollama"), { target: { value: "ollama/large" } });
  use();
  await waitFor(() =>
    expect(sent.mock.calls).toEqual([["/api/settings", { name: "model.default", value: "ollama/large" }]]),
  );
  await screen.findByText(/^ollama\/large is the default model now/);
});

it("shows why the default could not be changed", async () => {
  const error = { code: "setting_overridden", message: "WAKEFUL_MODEL overrides it", hint: "unset it" };
  show([ollama], () => Response.json({ error }, { status: 409 }));
  use();
  await screen.findByText(/WAKEFUL_MODEL overrides it/);
});

it("says that a server has no models", () => {
  show([{ ...ollama, models: [] }]);
  expect(screen.queryByRole("button")).toBeNull();
  expect(screen.getByText(/It has no models yet/)).toBeTruthy();
});
