import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleAgent, sampleSchedule } from "../api/samples";
import type { Schedule } from "../api/types";
import { addScheduleOf, editScheduleOf, newScheduleDraft, scheduleDraftOf, scheduleErrors } from "./draft";
import { executionText } from "./execution";
import { patternText } from "./pattern";
import { ScheduleForm } from "./ScheduleForm";
import { ScheduleRow } from "./ScheduleRow";

const NOW = Date.parse("2026-01-01T00:00:00Z");

afterEach(() => {
  cleanup();
  sessionStorage.clear();
});

it("says in plain language when a schedule fires", () => {
  const cron = (pattern: string) => patternText({ cron: pattern, time_zone: "UTC" });
  expect(cron("0 9 * * *")).toBe("every day at 09:00 (UTC)");
  expect(cron("30 7 * * 1-5")).toBe("Monday to Friday at 07:30 (UTC)");
  expect(cron("0 18 * * 0")).toBe("Sundays at 18:00 (UTC)");
  expect(cron("5 4 1 * *")).toBe("on day 1 of each month at 04:05 (UTC)");
  expect(cron("15 * * * *")).toBe("every hour at :15 (UTC)");
  expect(cron("*/10 * * * *")).toBe("every 10 minutes");
  expect(cron("0 9-17/2 * 3 *")).toBe("cron 0 9-17/2 * 3 * (UTC)");
  expect(patternText({ interval_seconds: 86_400 })).toBe("every day");
  expect(patternText({ interval_seconds: 5_400 })).toBe("every 90 minutes");
  expect(patternText({ interval_seconds: 90 })).toBe("every 90 s");
});

it("finds what is wrong before anything is sent", () => {
  const draft = { ...newScheduleDraft("main"), message: "hello" };
  expect(scheduleErrors(draft, NOW)).toEqual({});
  expect(scheduleErrors({ ...draft, message: " " }, NOW)).toHaveProperty("message");
  expect(scheduleErrors({ ...draft, everyCount: "1.5" }, NOW)).toHaveProperty("everyCount");
  expect(scheduleErrors({ ...draft, kind: "cron", cron: "daily" }, NOW)).toHaveProperty("cron");
  expect(scheduleErrors({ ...draft, kind: "at", at: "2025-01-01T00:00" }, NOW)).toHaveProperty("at");
  expect(scheduleErrors({ ...draft, kind: "at", at: "" }, NOW)).toHaveProperty("at");
});

it("sends only the pattern that was chosen", () => {
  const draft = { ...newScheduleDraft("main"), message: " hello ", cron: "0 9 * * *", timeZone: "UTC" };
  expect(addScheduleOf({ ...draft, everyCount: "2", everyUnit: "3600" })).toEqual({
    agent_id: "main",
    pattern: { interval_seconds: 7_200 },
    message: "hello",
    always: true,
  });
  expect(addScheduleOf({ ...draft, kind: "cron", name: "daily", onlyIfChanged: true })).toEqual({
    agent_id: "main",
    schedule_id: "daily",
    pattern: { cron: "0 9 * * *", time_zone: "UTC" },
    message: "hello",
    always: false,
  });
});

it("sends an unchanged pattern never again, because it would start anew", () => {
  const draft = scheduleDraftOf(sampleSchedule());
  expect(editScheduleOf({ ...draft, message: "new" }, { message: "new" })).toEqual({ message: "new" });
  expect(editScheduleOf({ ...draft, everyCount: "2" }, { everyCount: "2" })).toEqual({
    pattern: { interval_seconds: 172_800 },
  });
});

it("names why a firing did not run", () => {
  const one = { outcome: "skipped", reason: "concurrency_forbid" } as never;
  expect(executionText(one)).toBe("skipped: the previous firing was in progress");
  expect(executionText({ outcome: "run", run_status: "failed" } as never)).toBe("Failed");
});

const asked = vi.fn<(body: unknown) => void>();

beforeEach(() => asked.mockReset());

function show(respond: () => Response): { onSaved: ReturnType<typeof vi.fn> } {
  vi.stubGlobal("fetch", async (request: Request) => {
    asked(await request.json());
    return respond();
  });
  const onSaved = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ScheduleForm agents={[sampleAgent()]} onClose={() => undefined} onSaved={onSaved} />
    </QueryClientProvider>,
  );
  return { onSaved };
}

const field = (name: string) => screen.getByRole("textbox", { name });
const submit = () => fireEvent.click(screen.getByRole("button", { name: "Create schedule" }));

it("shows an error beside its field, and keeps the draft for the next time", async () => {
  show(() =>
    Response.json({ error: { code: "invalid", message: "`message` is too long", hint: "" } }, { status: 400 }),
  );
  submit();
  expect(screen.getByText("Enter a message.")).toBeTruthy();
  expect(asked).not.toHaveBeenCalled();
  fireEvent.change(field("Message"), { target: { value: "water the beds" } });
  submit();
  await waitFor(() => expect(screen.getByText("`message` is too long.")).toBeTruthy());
  expect(field("Message").getAttribute("aria-invalid")).toBe("true");
  cleanup();
  show(() => Response.json({}));
  expect((field("Message") as HTMLTextAreaElement).value).toBe("water the beds");
});

it("forgets the draft when the schedule is saved", async () => {
  const { onSaved } = show(() => Response.json(sampleSchedule(), { status: 201 }));
  fireEvent.change(field("Message"), { target: { value: "water the beds" } });
  submit();
  await waitFor(() => expect(onSaved).toHaveBeenCalledOnce());
  expect(sessionStorage.length).toBe(0);
});

it("says when firings are skipped", () => {
  const note = "firings are skipped while nothing changes";
  const row = (schedule: Schedule) => (
    <QueryClientProvider client={new QueryClient()}>
      <ScheduleRow schedule={schedule} agents={[]} onSaved={() => undefined} />
    </QueryClientProvider>
  );
  const { rerender } = render(row(sampleSchedule({ note })));
  expect(screen.getByRole("note").textContent).toContain("Firings are skipped while nothing changes.");
  rerender(row(sampleSchedule()));
  expect(screen.queryByRole("note")).toBeNull();
});
