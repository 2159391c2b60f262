import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { beforeEach, expect, it, vi } from "vitest";
import type { TranscriptLine } from "../api/types";
import { setConnection } from "../live/connection";
import { useOutbox } from "./useOutbox";

const around = ({ children }: { children: ReactNode }) => (
  <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>
);
const nothing: never[] = [];
const plans = { agentId: "main", thread: "plans", queue: nothing, lines: nothing };

beforeEach(() => {
  sessionStorage.clear();
  setConnection("unreachable");
});

it("retries a message under its first key", async () => {
  const bodies: { text: string; key: string; thread: string }[] = [];
  const answers = [
    () => Promise.reject(new TypeError("network")),
    () => Response.json({ run_key: "r1", agent_id: "main", admission: "known" }, { status: 202 }),
    () => Response.json({ run_key: "r2", agent_id: "main", admission: "new" }, { status: 202 }),
  ];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    return answers[bodies.length - 1]?.();
  });
  const { result } = renderHook(() => useOutbox(plans), { wrapper: around });

  act(() => result.current.send({ text: "hello" }));
  await waitFor(() => expect(result.current.messages[0]?.state).toBe("waiting"));
  act(() => result.current.retry(result.current.messages[0]!));
  await waitFor(() => expect(result.current.messages[0]?.state).toBe("accepted"));
  act(() => result.current.send({ text: "again" }));
  await waitFor(() => expect(result.current.messages[1]?.state).toBe("accepted"));

  expect(bodies.map(({ text }) => text)).toEqual(["hello", "hello", "again"]);
  expect(new Set(bodies.map(({ thread }) => thread))).toEqual(new Set(["plans"]));
  expect(bodies[1]?.key).toBe(bodies[0]?.key);
  expect(bodies[2]?.key).not.toBe(bodies[0]?.key);
});

it("says until the next message that a secret was replaced", async () => {
  const counts = [2, undefined];
  vi.stubGlobal("fetch", async () =>
    Response.json({ run_key: "r", agent_id: "main", admission: "new", redacted: counts.shift() }, { status: 202 }),
  );
  const { result } = renderHook(() => useOutbox(plans), { wrapper: around });
  act(() => result.current.send({ text: "the key is sk-1" }));
  await waitFor(() => expect(result.current.redacted).toBe(2));
  act(() => result.current.send({ text: "thanks" }));
  await waitFor(() => expect(result.current.redacted).toBe(0));
});

it("shows the error of the server when it refuses a message", async () => {
  const error = { code: "message_too_long", message: "the message is too long", hint: "cut it" };
  vi.stubGlobal("fetch", async () => Response.json({ error }, { status: 413 }));
  const { result } = renderHook(() => useOutbox(plans), { wrapper: around });
  act(() => result.current.send({ text: "hello" }));
  await waitFor(() =>
    expect(result.current.messages[0]?.problem).toEqual({ message: "the message is too long", hint: "cut it" }),
  );
});

it.each([
  ["the connection is back", () => setConnection("live")],
  ["the browser is online again", () => window.dispatchEvent(new Event("online"))],
])("sends a waiting message once when %s", async (_, comeBack) => {
  const bodies: { key: string }[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    if (bodies.length === 1) throw new TypeError("network");
    return Response.json({ run_key: "r1", agent_id: "main", admission: "new" }, { status: 202 });
  });
  const { result } = renderHook(() => useOutbox(plans), { wrapper: around });
  act(() => result.current.send({ text: "hello" }));
  await waitFor(() => expect(result.current.messages[0]?.state).toBe("waiting"));
  act(() => void comeBack());
  await waitFor(() => expect(result.current.messages[0]?.state).toBe("accepted"));
  expect(bodies).toHaveLength(2);
  expect(bodies[1]?.key).toBe(bodies[0]?.key);
});

it("keeps the messages of two conversations apart", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("network")));
  const { result } = renderHook(() => useOutbox(plans), { wrapper: around });
  act(() => result.current.send({ text: "hello" }));
  await waitFor(() => expect(result.current.messages[0]?.state).toBe("waiting"));
  const stored = (thread: string) =>
    renderHook(() => useOutbox({ ...plans, thread }), { wrapper: around }).result.current.messages.map(
      (one) => one.text,
    );
  expect([stored("plans"), stored("cli")]).toEqual([["hello"], []]);
});

it("drops a message that arrived although its response was lost before a reload", async () => {
  const arrived = { key: "a|b%1", text: "hello", at: "2026-01-01T00:00:00Z", state: "sending" };
  const lost = { ...arrived, key: "k2", text: "never arrived" };
  sessionStorage.setItem("wakeful.outbox.main/cli", JSON.stringify([arrived, lost]));
  // The key of the run as the server derives it.
  const line = { run_key: "a78eaf71e454a316a24b27127b6e343adbe6863ea63efadee5da7a3bba004c18" };
  const lines = [line] as unknown as TranscriptLine[];
  const { result } = renderHook(() => useOutbox({ ...plans, thread: "cli", lines }), { wrapper: around });
  await waitFor(() => expect(result.current.messages.map((one) => one.text)).toEqual(["never arrived"]));
});
