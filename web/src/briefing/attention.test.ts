import { expect, it } from "vitest";
import { sampleDecision, sampleEvent, sampleRun } from "../api/samples";
import { attentionItems } from "./attention";

const urgent = (seq: number, runKey: string) => sampleEvent(seq, { run_key: runKey, visibility: "action_required" });
const stuck = { agent_id: "books", code: "model_unknown", message: "no such model", hint: "choose another" };

it("lists stuck agents first, then one alert per run, newest first", () => {
  const log = [urgent(1, "a"), urgent(2, "a"), sampleEvent(3), urgent(4, "b")];
  expect(attentionItems([stuck], log, new Set()).map((item) => item.id)).toEqual([
    "stuck/books",
    "main/run/b",
    "main/run/a",
  ]);
});

it("hides dismissed events until the run has a new one", () => {
  const dismissed = new Set(["id-main-1"]);
  expect(attentionItems([], [urgent(1, "a")], dismissed)).toEqual([]);
  expect(attentionItems([], [urgent(1, "a"), urgent(2, "a")], dismissed)).toMatchObject([{ eventIds: ["id-main-2"] }]);
});

it("shows each text once and quotes the message", () => {
  const asked = sampleEvent(1, { run_key: "a", kind: "message_admitted", payload: { text: "Do it" } });
  const same = { ...urgent(3, "a"), presentation: urgent(2, "a").presentation };
  const [item] = attentionItems([], [asked, urgent(2, "a"), same], new Set());
  expect(item).toMatchObject({ prompt: "Do it", eventIds: ["id-main-2", "id-main-3"] });
  expect(item?.kind === "alert" && item.events).toHaveLength(1);
});

it("shows the reason of a failed run without its end", () => {
  const ended = { ...urgent(2, "a"), kind: "run_ended" };
  const shown = (log: Parameters<typeof attentionItems>[1]) =>
    attentionItems([], log, new Set()).flatMap((item) =>
      item.kind === "alert" ? item.events.map((event) => event.seq) : [],
    );
  expect([shown([urgent(1, "a"), ended]), shown([ended])]).toEqual([[1], [2]]);
});

it("is empty without events that need attention", () => {
  expect(attentionItems([], [sampleEvent(1), sampleEvent(2, { visibility: "work_done" })], new Set())).toEqual([]);
});

const exceeded = { scope: "agent" as const, cap: 1_000_000, spent: 990_000, needed: 20_000, day: 1 };
const parked = (seq: number) =>
  sampleEvent(seq, {
    kind: "run_parked",
    run_key: "p",
    visibility: "action_required",
    payload: { code: "budget_exceeded", exceeded },
  });
const outOfMoney = { agent_id: "main", code: "budget_exceeded", message: "no money is left", hint: "raise the cap" };

it("lists a parked run once, with its message and cap", () => {
  const asked = sampleEvent(1, { run_key: "p", kind: "message_admitted", payload: { text: "Do it" } });
  const [item, ...others] = attentionItems([outOfMoney], [asked, parked(2)], new Set());
  expect(others).toEqual([]);
  expect(item).toMatchObject({
    kind: "parked",
    id: "parked/main",
    runKey: "p",
    prompt: "Do it",
    parked: { scope: "agent", cap_usd: "1.00" },
  });
});

it("shows a parked agent when its event is out of reach", () => {
  expect(attentionItems([outOfMoney], [], new Set())).toMatchObject([
    { kind: "parked", agentId: "main", message: "no money is left" },
  ]);
});

it("a parked run cannot be dismissed and disappears when it continues", () => {
  expect(attentionItems([], [parked(1)], new Set(["id-main-1"]))).toHaveLength(1);
  expect(attentionItems([], [parked(1), sampleEvent(2, { run_key: "p" })], new Set())).toEqual([]);
});

it("lists other stuck agents after parked ones", () => {
  expect(attentionItems([outOfMoney, stuck], [parked(1), urgent(2, "a")], new Set()).map((item) => item.id)).toEqual([
    "parked/main",
    "stuck/books",
    "main/run/a",
  ]);
});

it("lists decisions first, and each item once", () => {
  const asked = sampleEvent(1, { kind: "decision_asked", run_key: "d", visibility: "action_required" });
  const quarantined = sampleEvent(2, { kind: "run_quarantined", run_key: "q", visibility: "action_required" });
  const waits = { agent_id: "main", code: "decision_pending", message: "it waits", hint: "answer" };
  const run = {
    run_key: "q",
    agent_id: "main",
    status: "quarantined" as const,
    transitions: 1,
    counts: sampleRun().counts,
    started_at: "2026-01-01T00:00:00Z",
  };
  const server = { decisions: [sampleDecision()], quarantined: [run] };
  expect(
    attentionItems([waits, stuck], [asked, quarantined, urgent(3, "a")], new Set(), server).map((item) => item.id),
  ).toEqual(["decision/d1", "quarantined/q", "stuck/books", "main/run/a"]);
  expect(attentionItems([waits], [asked, quarantined], new Set())).toEqual([]);
});
