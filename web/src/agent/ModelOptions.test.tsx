import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ModelOptions } from "./ModelOptions";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const model = (modelRef: string, isUsable: boolean) => ({
  model_ref: modelRef,
  kind: "hosted",
  is_default: false,
  is_usable: isUsable,
  is_price_assumed: false,
});

it("lists usable models first, with those of local servers, and marks the rest", async () => {
  vi.stubGlobal("fetch", async (request: Request) =>
    request.url.endsWith("/local")
      ? Response.json([{ provider: "ollama", base_url: "http://127.0.0.1:11434/v1", models: ["ollama/small"] }])
      : Response.json([model("openai/large", false), model("mine/own", true), model("ollama/small", true)]),
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ModelOptions id="models" />
    </QueryClientProvider>,
  );
  const shown = () =>
    [...document.querySelectorAll("option")].map((one) =>
      [one.value, one.getAttribute("label")].filter(Boolean).join(" "),
    );
  await waitFor(() => expect(shown()).toEqual(["mine/own", "ollama/small on this machine", "openai/large no key yet"]));
});
