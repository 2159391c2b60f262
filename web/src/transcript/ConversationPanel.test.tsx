import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleAgent, sampleDelta, sampleRunSummary } from "../api/samples";
import type { AgentState } from "../api/types";
import { addDelta, NO_LIVE_TEXT } from "../live/deltas";
import { ConversationPanel } from "./ConversationPanel";
import { threadOfSearch } from "./thread";

afterEach(() => {
  cleanup();
  history.replaceState(null, "", "/");
});

const at = "2026-01-01T00:00:00Z";

/** Shows a conversation while run `r` of the conversation `plans` is open, or of no conversation. */
async function show(thread: string, openIn: string | undefined = "plans") {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    asked.push(pathname + search);
    if (pathname.endsWith("/threads"))
      return Response.json({ threads: [{ thread: "plans", last_at: at, preview: "Dig", open_run: "r" }] });
    if (request.url.endsWith("/brake")) return Response.json({ is_on: false, brakes: [] });
    return Response.json({ agent_id: "main", lines: [], has_more: false });
  });
  const state: AgentState = {
    agent: sampleAgent({ open_run: "r", activity: "working" }),
    queue: [
      { run_key: "q1", seq: 1, priority: "normal", admitted_at: at, preview: "water the plans", thread: "plans" },
      { run_key: "q2", seq: 2, priority: "normal", admitted_at: at, preview: "a message here", thread: "cli" },
    ],
    runs: [sampleRunSummary({ run_key: "r", ...(openIn && { thread: openIn }) })],
    after_seq: 0,
  };
  const liveTexts = addDelta(NO_LIVE_TEXT, sampleDelta(1, 0, "I am digging"));
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ConversationPanel state={state} thread={thread} liveTexts={liveTexts} decisions={[]} />
    </QueryClientProvider>,
  );
  await screen.findByRole("option", { name: "Conversation plans: “Dig” (in progress)" });
  await screen.findByText(thread === "plans" ? "water the plans" : "a message here");
  return asked;
}

it("shows live text and queued messages in their own conversation", async () => {
  const asked = await show("plans");
  expect(asked.some((one) => one.includes("/transcript?thread=plans&"))).toBe(true);
  expect(screen.getByText("I am digging")).toBeTruthy();
  expect(screen.queryByText("a message here")).toBeNull();
  expect(screen.queryByText(/is busy with/)).toBeNull();
  expect(screen.getByRole("button", { name: "Send now" })).toBeTruthy();
});

it("links to the conversation of the open run from another one", async () => {
  await show("cli");
  expect(screen.queryByText("I am digging")).toBeNull();
  expect(screen.queryByText("main is working…")).toBeNull();
  expect(screen.getByText(/main is busy with a run of another conversation/)).toBeTruthy();
  expect(screen.getByRole("link", { name: "Show that conversation" }).getAttribute("href")).toBe(
    "/agents/main?thread=plans",
  );
  expect(screen.queryByRole("button", { name: "Send now" })).toBeNull();
  expect(screen.getByRole("button", { name: "Stop" })).toBeTruthy();
});

it("links to the open run when no person started it", async () => {
  await show("cli", "");
  expect(screen.getByText(/no message of a person started/)).toBeTruthy();
  expect(screen.getByRole("link", { name: "View run" }).getAttribute("href")).toBe("/agents/main/runs/r");
});

it("keeps the chosen conversation in the address", async () => {
  history.replaceState(null, "", "/agents/main");
  await show("cli");
  fireEvent.change(screen.getByLabelText("Conversation to show"), { target: { value: "plans" } });
  expect(threadOfSearch(location.search)).toBe("plans");
  fireEvent.click(screen.getByRole("button", { name: "New conversation" }));
  expect(threadOfSearch(location.search)).toMatch(/^chat-[0-9a-f]{12}$/);
});
