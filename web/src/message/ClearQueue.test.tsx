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
  render(<ClearQueue agentId="main" />, {
    wrapper: ({ children }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>,
  });
  fireEvent.click(screen.getByRole("button", { name: "Cancel queued messages" }));
  await waitFor(() => expect(paths).toEqual(["POST /api/agents/main/queue/clear"]));
});
