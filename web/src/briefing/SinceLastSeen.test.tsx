import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleEvent, sampleRun, sampleRunSummary } from "../api/samples";
import { SinceLastSeen } from "./SinceLastSeen";

afterEach(cleanup);

const counts = (toolCalls: number) => ({ model_rounds: 1, tool_calls: toolCalls, denied: 0, failed: 0, unknown: 0 });

it("shows the counts of a run that began before the first event", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return pathname === "/api/runs"
      ? Response.json({ runs: [sampleRunSummary({ run_key: "new", counts: counts(2) })] })
      : Response.json(sampleRun({ run_key: "old", counts: counts(41) }));
  });
  const ended = { kind: "run_ended", payload: { outcome: "completed" }, visibility: "turn_result" } as const;
  const said = {
    kind: "assistant_round_recorded",
    payload: { text: "It is **done**." },
    visibility: "turn_result",
  } as const;
  const events = [
    sampleEvent(1, { ...said, run_key: "old" }),
    sampleEvent(2, { ...ended, run_key: "old" }),
    sampleEvent(3, { ...ended, run_key: "new" }),
  ];
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SinceLastSeen lastSeen={undefined} events={events} onMarkSeen={() => undefined} />
    </QueryClientProvider>,
  );
  await screen.findByText(/41 actions · 1 model round/);
  expect(screen.getByText(/2 actions · 1 model round/)).toBeTruthy();
  expect(asked).toEqual(["/api/runs", "/api/runs/old"]);
  expect((await screen.findByText("done")).tagName).toBe("STRONG");
});
