import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { activityView } from "../agent/activity";
import { brakesQuery } from "../api/queries";
import { sampleAgent, sampleRun } from "../api/samples";
import type { BrakeList } from "../api/types";
import { RunHeader } from "../run/RunHeader";
import { BrakeBanner } from "./BrakeBanner";
import { BrakeButton } from "./BrakeButton";

const posted = vi.fn<(path: string, body: unknown) => void>();
let answer: () => Response;

const OFF: BrakeList = { is_on: false, brakes: [] };
const ON: BrakeList = {
  is_on: true,
  brakes: [{ reason: "it deletes too much", channel: "page", at: "2026-01-01T00:00:00Z" }],
};

beforeEach(() => {
  posted.mockReset();
  answer = () => Response.json(ON);
  vi.stubGlobal("fetch", async (request: Request) => {
    posted(new URL(request.url).pathname, await request.json().catch(() => undefined));
    return answer();
  });
});

afterEach(cleanup);

function show(children: ReactNode, brakes: BrakeList): QueryClient {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  client.setQueryData(brakesQuery.queryKey, brakes);
  render(<QueryClientProvider client={client}>{children}</QueryClientProvider>);
  return client;
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

it("brakes all agents with a reason and shows it", async () => {
  show(
    <>
      <BrakeButton />
      <BrakeBanner />
    </>,
    OFF,
  );
  expect(screen.getByRole("button", { name: "Brake all" }).getAttribute("aria-pressed")).toBe("false");
  press("Brake all");
  fireEvent.change(screen.getByLabelText(/^Reason/), { target: { value: " it deletes too much " } });
  press("Brake all agents");
  await waitFor(() => expect(screen.getByRole("status").textContent).toContain("All agents are braked"));
  expect(posted).toHaveBeenCalledExactlyOnceWith("/api/brake", { reason: "it deletes too much" });
  expect(screen.getByRole("status").textContent).toContain("“it deletes too much”");
  expect(screen.getByRole("button", { name: "All braked" }).getAttribute("aria-pressed")).toBe("true");
});

it("releases the brake and shows its reason", async () => {
  show(<BrakeButton />, ON);
  answer = () => Response.json(OFF);
  press("All braked");
  expect(screen.getByRole("dialog").textContent).toContain("“it deletes too much”");
  press("Release all agents");
  await waitFor(() => expect(screen.getByRole("button", { name: "Brake all" })).toBeTruthy());
  expect(posted).toHaveBeenCalledExactlyOnceWith("/api/brake/release", {});
});

it("says that a brake is not saved yet, and whether a restart ends it", () => {
  const brakes = (is_saved: boolean): BrakeList => ({
    is_on: true,
    brakes: [{ ...ON.brakes[0]!, not_durable: { code: "disk_full", message: "in force", is_saved } }],
  });
  show(<BrakeBanner />, brakes(true));
  expect(screen.getByRole("status").textContent).toContain(
    "not saved in the database yet: the disk is full. A restart of the daemon keeps it.",
  );
  cleanup();
  show(<BrakeBanner />, brakes(false));
  expect(screen.getByRole("status").textContent).toContain("A restart of the daemon ends it");
  cleanup();
  show(<BrakeBanner />, ON);
  expect(screen.getByRole("status").textContent).not.toContain("not saved");
});

it("says that a cancellation is not saved yet", async () => {
  const run = sampleRun({ outcome: "open" });
  answer = () =>
    Response.json(
      { run_key: run.run_key, not_durable: { code: "database_slow", message: "in force", is_saved: true } },
      { status: 202 },
    );
  show(<RunHeader run={run} />, OFF);
  press("Cancel run");
  await screen.findByText(/not saved in the database yet: the database does not respond/);
});

it("brakes one agent and no other", async () => {
  const one: BrakeList = {
    is_on: false,
    brakes: [{ agent_id: "main", reason: "", channel: "api", at: "2026-01-01T00:00:00Z" }],
  };
  answer = () => Response.json(one);
  const client = show(<BrakeButton agentId="main" />, OFF);
  press("Brake");
  press("Brake main");
  await waitFor(() => expect(screen.getByRole("button", { name: "Release brake" })).toBeTruthy());
  expect(posted).toHaveBeenCalledExactlyOnceWith("/api/brake", { agent_id: "main" });
  cleanup();
  show(<BrakeButton agentId="other" />, client.getQueryData(brakesQuery.queryKey) as BrakeList);
  expect(screen.getByRole("button", { name: "Brake" })).toBeTruthy();
});

it("shows why the server refused and stays open", async () => {
  show(<BrakeButton />, OFF);
  answer = () =>
    Response.json(
      { error: { code: "stopping", message: "the daemon is stopping", hint: "start it again" } },
      { status: 503 },
    );
  press("Brake all");
  press("Brake all agents");
  await screen.findByText("The daemon is stopping.");
  expect(screen.getByRole("dialog")).toBeTruthy();
});

it("brake and decisions come before other activity", () => {
  expect(activityView(sampleAgent({ is_braked: true, activity: "working" })).label).toBe("Braked");
  expect(activityView(sampleAgent({ pending_decisions: 2, activity: "working" })).sentence).toContain(
    "2 pending decisions",
  );
});
