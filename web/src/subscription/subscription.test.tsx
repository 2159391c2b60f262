import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleSubscription } from "../api/samples";
import type { Subscription } from "../api/types";
import { Subscriptions } from "./Subscriptions";
import { conditions } from "./text";

/** Requests of the page beside the list, as method and path. */
const asked = vi.fn<(what: string) => void>();
let kept: Subscription[];
let refusal: object | undefined;
let warnings: string[] = [];

beforeEach(() => {
  asked.mockReset();
  kept = [sampleSubscription()];
  refusal = undefined;
  vi.stubGlobal("fetch", (request: Request) => {
    const path = new URL(request.url).pathname;
    if (request.method === "GET") return Promise.resolve(Response.json({ subscriptions: kept }));
    asked(`${request.method} ${path}`);
    if (refusal) return Promise.resolve(Response.json({ error: refusal }, { status: 404 }));
    const was = sampleSubscription({ is_active: path.endsWith("/resume") });
    if (path === "/api/subscriptions") return Promise.resolve(Response.json({ ...was, warnings }, { status: 201 }));
    kept = request.method === "DELETE" ? [] : [was];
    return Promise.resolve(Response.json(was));
  });
});

afterEach(cleanup);

function show(): void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  render(
    <QueryClientProvider client={client}>
      <Subscriptions agentId="coach" />
    </QueryClientProvider>,
  );
}

const press = async (name: string) => fireEvent.click(await screen.findByRole("button", { name }));

it("shows conditions in the syntax of the command line", () => {
  const one = sampleSubscription({
    all: ["id:writer"],
    predicate: {
      all: [
        { field: "category", op: "eq", value: "gym" },
        { field: "version", op: "eq", value: 3 },
      ],
    },
    guard: { field: "queued", op: "lt", value: 3 },
    cooldown_ms: 600_000,
  });
  expect(conditions(one)).toEqual([
    "on TASK or NOTE",
    "with id:writer",
    "where category=gym and version=3",
    'when {"field":"queued","op":"lt","value":3}',
    "at most every 10 min",
  ]);
});

it("lists subscriptions, or the command that adds one", async () => {
  show();
  const row = await screen.findByRole("listitem");
  expect(row.textContent).toContain("gym");
  expect(row.textContent).toContain("on TASK or NOTE");
  expect(row.textContent).toContain("“plan the week”");
  cleanup();
  kept = [];
  show();
  await screen.findByText(/^No subscriptions\./);
});

it("pauses and resumes a subscription", async () => {
  show();
  await press("Pause gym");
  await screen.findByText("paused");
  await press("Resume gym");
  await waitFor(() => expect(screen.queryByText("paused")).toBeNull());
  expect(asked.mock.calls.flat()).toEqual(["POST /api/subscriptions/gym/pause", "POST /api/subscriptions/gym/resume"]);
});

it("removes a subscription after confirmation", async () => {
  show();
  await press("Remove gym");
  expect(asked).not.toHaveBeenCalled();
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Remove subscription" }));
  await screen.findByText(/^No subscriptions\./);
  expect(asked).toHaveBeenCalledExactlyOnceWith("DELETE /api/subscriptions/gym");
});

it("shows why the server refused", async () => {
  show();
  refusal = { code: "subscription_unknown", message: "there is no subscription gym", hint: "look again" };
  await press("Pause gym");
  await screen.findByText("There is no subscription gym.");
});

it("a new subscription that matches nothing yet shows its warnings", async () => {
  warnings = ["no category is named `gim`; the nearest is `gym`"];
  show();
  await press("Add subscription");
  fireEvent.change(await screen.findByLabelText("Any of these"), { target: { value: "GIM" } });
  const dialog = screen.getByRole("dialog");
  fireEvent.click(within(dialog).getByRole("button", { name: "Add subscription" }));
  expect((await within(dialog).findByRole("alert")).textContent).toContain("the nearest is gym");
});
