import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { FolderReview, TrustedFolder } from "../api/types";
import { FolderList } from "./FolderList";

afterEach(cleanup);

const workspace: TrustedFolder = {
  folder: "/home/ann/project",
  is_trusted: true,
  agents: ["main"],
  untrusted_actions: 2,
};
const review: FolderReview = {
  folder: "/home/ann/project",
  listed_at: "2026-03-01T10:00:00.000Z",
  untrusted_actions: 2,
  files: [{ path: "notes.md", changed_at: "2026-03-01T09:00:00.000Z", agent_id: "main", tool: "WriteFile" }],
  is_truncated: false,
};

/** The requests that changed something, in their order. */
function show() {
  const sent: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url);
    if (request.method !== "GET") sent.push([pathname, JSON.parse(await request.text())]);
    if (pathname === "/api/folders") return Response.json(request.method === "GET" ? [workspace] : workspace);
    return Response.json(review);
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <FolderList />
    </QueryClientProvider>,
  );
  return sent;
}

it("sends the time of the list with a review", async () => {
  const sent = show();
  fireEvent.click(await screen.findByRole("button", { name: "Review /home/ann/project" }));
  await screen.findByText("notes.md");
  fireEvent.click(screen.getByRole("button", { name: "I have reviewed these files", hidden: true }));
  const asked = { folder: "/home/ann/project", listed_at: "2026-03-01T10:00:00.000Z" };
  await waitFor(() => expect(sent).toEqual([["/api/folders/review", asked]]));
});

it("stops trusting a folder", async () => {
  const sent = show();
  fireEvent.click(await screen.findByRole("button", { name: "Stop trusting /home/ann/project" }));
  const asked = { folder: "/home/ann/project", is_trusted: false };
  await waitFor(() => expect(sent).toEqual([["/api/folders", asked]]));
});
