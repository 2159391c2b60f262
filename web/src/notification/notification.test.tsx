import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { attentionQuery } from "../api/queries";
import { sampleDecision, sampleFailedRuns, sampleRunSummary } from "../api/samples";
import type { AttentionItem } from "../api/types";
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

const run = sampleRunSummary({ status: "failed", preview: "secret message" });

function show(): QueryClient {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(attentionQuery.queryKey, { items: [sampleFailedRuns()] });
  render(
    <QueryClientProvider client={client}>
      <NotificationButton />
      <Notifier />
    </QueryClientProvider>,
  );
  return client;
}

const hide = (hidden: boolean) => vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
const list = (client: QueryClient, ...items: AttentionItem[]) =>
  act(async () => {
    client.setQueryData(attentionQuery.queryKey, { items: [sampleFailedRuns(), ...items] });
    // The cache reports changes in the next task.
    await new Promise((resolve) => setTimeout(resolve));
  });
const asking = (id: string): AttentionItem => ({
  kind: "pending_decision",
  decision: sampleDecision({ decision_id: id, input: "rm -rf secret" }),
});
const ask = (client: QueryClient, ...ids: string[]) => list(client, ...ids.map(asking));

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

it("notifies about a failure that another run of the agent follows, and about each later one", async () => {
  localStorage.setItem("wakeful.notifications", "on");
  FakeNotification.permission = "granted";
  const client = show();
  hide(true);
  const failed = (...runKeys: string[]) => sampleFailedRuns({ agent_id: "other", run_keys: runKeys });
  await list(client, failed("r1"));
  await list(client, failed("r2", "r1"));
  await list(client, failed("r1"));
  expect(shown.map(({ options }) => options.tag)).toEqual(["failed/r1", "failed/r2"]);
});

it("has a notice for everything that needs a person, without texts of commands and messages", () => {
  const stuck = (code: string): AttentionItem => ({
    kind: "stuck_agent",
    agent: { agent_id: "main", code, message: "secret", hint: "" },
  });
  const failed = { message: "secret", preview: "secret" };
  const notices = noticesOf([
    asking("d1"),
    { kind: "quarantined_run", run: { ...run, run_key: "q" } },
    { kind: "parked_run", run: { ...run, run_key: "p" } },
    stuck("model_unknown"),
    stuck("budget_exceeded"),
    sampleFailedRuns({ ...failed, run_keys: ["f2", "f1"] }),
    sampleFailedRuns({ ...failed, run_keys: ["o"], code: "out_of_rounds" }),
    { kind: "unknown_outcome", run: { ...run, run_key: "u" } },
  ]);
  expect(notices.map(({ tag, body }) => `${tag}: ${body}`)).toEqual([
    "decision/d1: Needs a decision about ExecCommand.",
    "quarantined/q: A run is quarantined.",
    "parked/p: Waiting for budget: the next request may exceed the cap.",
    "stuck/main/model_unknown: The agent cannot continue.",
    "failed/f2: A run failed.",
    "failed/f1: A run failed.",
    "failed/o: A run used all its model rounds.",
    "unknown/u: An action was interrupted, and its outcome is unknown.",
  ]);
  expect(JSON.stringify(notices)).not.toContain("secret");
});
