import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { keys } from "../api/keys";
import { QueuedView } from "./QueuedView";

afterEach(cleanup);

const message = { run_key: "r", preview: "Water it", admitted_at: "2026-01-01T00:00:00Z", priority: "normal" } as never;

function shown(brakes: readonly object[]): string {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(keys.brakes(), { is_on: brakes.length > 0, brakes });
  render(
    <QueryClientProvider client={client}>
      <ul>
        <QueuedView agentId="main" message={message} />
      </ul>
    </QueryClientProvider>,
  );
  const text = screen.getByRole("listitem").textContent ?? "";
  cleanup();
  return text;
}

it("a queued message names the brake that holds it", () => {
  const at = "2026-01-01T00:00:00Z";
  expect(shown([])).not.toContain("brake");
  expect(shown([{ agent_id: "other", at, reason: "" }])).not.toContain("brake");
  expect(shown([{ agent_id: "main", at, reason: "" }])).toContain("Held by the brake of main until it is released.");
  expect(shown([{ at, reason: "" }])).toContain("Held by the brake of all agents until it is released.");
});
