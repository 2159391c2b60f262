import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { agentsQuery, attentionQuery, decisionsQuery, runtimeQuery } from "../api/queries";
import { sampleAgent, sampleDecision } from "../api/samples";
import type { RunSummary, RuntimeStatus } from "../api/types";
import { NotificationButton } from "./NotificationButton";
import { Notifier } from "./Notifier";
import { noticesOf } from "./notice";

const shown: { title: string; options: NotificationOptions; onclick?: () => void }[] = [];
const requestPermission = vi.fn();

class FakeNotification {
  static permission = "default";
  static requestPermission = requestPermission;
  onclick?: () => void;
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {
    shown.push(this);
  }
  close() {}
}

beforeEach(() => {
  shown.length = 0;
  localStorage.clear();
  FakeNotification.permission = "default";
  requestPermission.mockReset().mockImplementation(async () => {
    FakeNotification.permission = "granted";
    return "granted";
  });
  vi.stubGlobal("Notification", FakeNotification);
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
});
afterEach(cleanup);

const run: RunSummary = {
  run_key: "r",
  agent_id: "main",
  status: "failed",
  transitions: 1,
  counts: { model_rounds: 0, tool_calls: 0, denied: 0, failed: 0, unknown: 0 },
  started_at: "2026-01-01T00:00:00Z",
  preview: "secret message",
};

function show(): QueryClient {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(decisionsQuery.queryKey, []);
  client.setQueryData(attentionQuery.queryKey, { items: [] });
  client.setQueryData(runtimeQuery.queryKey, { stuck: [] } as unknown as RuntimeStatus);
  client.setQueryData(agentsQuery.queryKey, [sampleAgent({ last_run: run })]);
  render(
    <QueryClientProvider client={client}>
      <NotificationButton />
      <Notifier />
    </QueryClientProvider>,
  );
  return client;
}

const hide = (hidden: boolean) => vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
const ask = (client: QueryClient, ...ids: string[]) =>
  act(async () => {
    const decisions = ids.map((id) => sampleDecision({ decision_id: id, input: "rm -rf secret" }));
    client.setQueryData(decisionsQuery.queryKey, decisions);
    // The cache reports changes in the next task.
    await new Promise((resolve) => setTimeout(resolve));
  });

it("asks for permission only when the button is pressed", async () => {
  show();
  expect(requestPermission).not.toHaveBeenCalled();
  expect(screen.getByRole("button", { name: "Turn on notifications" }).getAttribute("aria-pressed")).toBe("false");
  fireEvent.click(screen.getByRole("button"));
  await screen.findByRole("button", { name: "Turn off notifications" });
  fireEvent.click(screen.getByRole("button"));
  await screen.findByRole("button", { name: "Turn on notifications" });
});

it("says that the browser blocks notifications", async () => {
  FakeNotification.permission = "denied";
  show();
  expect(screen.getByRole<HTMLButtonElement>("button", { name: /are blocked/ }).disabled).toBe(true);
});

it("notifies once about each new item while the page is hidden", async () => {
  localStorage.setItem("wakeful.notifications", "on");
  FakeNotification.permission = "granted";
  const client = show();
  hide(true);
  await ask(client, "d1");
  expect(shown).toHaveLength(1);
  expect(shown[0]).toMatchObject({
    title: "main",
    options: { tag: "decision/d1", body: "Needs a decision about ExecCommand." },
  });
  await ask(client, "d1");
  hide(false);
  await ask(client, "d1", "d2");
  hide(true);
  await ask(client, "d1", "d2", "d3");
  expect(shown.map(({ options }) => options.tag)).toEqual(["decision/d1", "decision/d3"]);
  shown[0]?.onclick?.();
  expect(location.pathname).toBe("/agents/main/runs/r");
});

it("is off by default", async () => {
  FakeNotification.permission = "granted";
  const client = show();
  hide(true);
  await ask(client, "d1");
  expect(shown).toEqual([]);
});

it("has a notice for everything that needs a person, without texts of commands and messages", () => {
  const notices = noticesOf({
    decisions: [sampleDecision({ input: "rm -rf secret" })],
    quarantined: [{ ...run, run_key: "q" }],
    stuck: [
      { agent_id: "main", code: "budget_exceeded", message: "secret", hint: "" },
      { agent_id: "main", code: "decision_pending", message: "", hint: "" },
    ],
    agents: [sampleAgent({ last_run: run }), sampleAgent({ last_run: { ...run, status: "completed" } })],
  });
  expect(notices.map(({ tag }) => tag)).toEqual(["decision/d1", "quarantined/q", "failed/r", "parked/main"]);
  expect(JSON.stringify(notices)).not.toContain("secret");
});
