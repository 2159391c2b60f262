import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { sampleAgent } from "../api/samples";
import { ClearQueue } from "./ClearQueue";

it("cancels the queued messages of an agent", async () => {
  const paths: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    paths.push(`${request.method} ${new URL(request.url).pathname}`);
    return Response.json(sampleAgent());
  });
  render(<ClearQueue agentId="main" count={2} elsewhere={0} />, {
    wrapper: ({ children }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>,
  });
  fireEvent.click(screen.getByRole("button", { name: "Cancel queued messages" }));
  await waitFor(() => expect(paths).toEqual(["POST /api/agents/main/queue/clear"]));
});

it("says that it also cancels the messages of other conversations", () => {
  render(<ClearQueue agentId="main" count={3} elsewhere={1} />, {
    wrapper: ({ children }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>,
  });
  expect(screen.getByRole("button", { name: "Cancel all 3 queued messages of this agent" })).toBeTruthy();
});
