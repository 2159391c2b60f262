import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleFailedRuns, sampleRunSummary } from "../api/samples";
import { NeedsAttention } from "./NeedsAttention";

afterEach(cleanup);

function show(children: ReactNode): void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  render(<QueryClientProvider client={client}>{children}</QueryClientProvider>);
}

it("says that nothing needs attention", () => {
  show(<NeedsAttention items={[]} onDismiss={() => undefined} />);
  expect(screen.getByRole("region", { name: "Needs attention" }).textContent).toContain("Nothing needs attention.");
});

it("equal failures are one card that can be dismissed", () => {
  const onDismiss = vi.fn();
  show(<NeedsAttention items={[sampleFailedRuns()]} onDismiss={onDismiss} />);
  expect(screen.getByRole("article", { name: "2 runs failed" }).textContent).toContain("did not answer in time.");
  expect(screen.getByRole("link", { name: "View run" }).getAttribute("href")).toBe("/agents/main/runs/b");
  fireEvent.click(screen.getByRole("button", { name: "Done with this" }));
  expect(onDismiss).toHaveBeenCalledExactlyOnceWith(["b", "a"]);
});

it("runs the newest failed run again", async () => {
  const paths: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    paths.push(`${request.method} ${new URL(request.url).pathname}`);
    return Response.json({ run_key: "c", agent_id: "main", admission: "new" }, { status: 202 });
  });
  show(<NeedsAttention items={[sampleFailedRuns()]} onDismiss={() => undefined} />);
  fireEvent.click(screen.getByRole("button", { name: "Run again" }));
  await waitFor(() => expect(screen.getByRole("button", { name: "Queued again" })).toBeTruthy());
  expect(paths).toContain("POST /api/runs/b/retry");
});

it("says how many items are not shown", () => {
  const item = { kind: "unknown_outcome", run: sampleRunSummary() } as const;
  show(<NeedsAttention items={[item]} more={3} onDismiss={() => undefined} />);
  expect(screen.getByText("3 more items not shown.")).toBeTruthy();
});
