import { expect, it } from "vitest";
import { sampleDecision, sampleEvent } from "../api/samples";
import { attentionItems } from "./attention";

const urgent = (seq: number, runKey: string) => sampleEvent(seq, { run_key: runKey, visibility: "action_required" });
const stuck = { agent_id: "books", code: "model_unknown", message: "no such model", hint: "choose another" };

it("puts stuck agents first, then one trouble per run, newest first", () => {
  const log = [urgent(1, "a"), urgent(2, "a"), sampleEvent(3), urgent(4, "b")];
  expect(attentionItems([stuck], log, new Set()).map((item) => item.id)).toEqual([
    "stuck/books",
    "main/run/b",
    "main/run/a",
  ]);
});

it("leaves out what a person is done with, until something new happens in the same run", () => {
  const dismissed = new Set(["id-main-1"]);
  expect(attentionItems([], [urgent(1, "a")], dismissed)).toEqual([]);
  expect(attentionItems([], [urgent(1, "a"), urgent(2, "a")], dismissed)).toMatchObject([{ eventIds: ["id-main-2"] }]);
});

it("says the same words only once, and quotes what was asked", () => {
  const asked = sampleEvent(1, { run_key: "a", kind: "message_admitted", payload: { text: "Do it" } });
  const same = { ...urgent(3, "a"), presentation: urgent(2, "a").presentation };
  const [item] = attentionItems([], [asked, urgent(2, "a"), same], new Set());
  expect(item).toMatchObject({ prompt: "Do it", eventIds: ["id-main-2", "id-main-3"] });
  expect(item?.kind === "alert" && item.events).toHaveLength(1);
});

it("gives the reason of a failed run and not also that it ended", () => {
  const ended = { ...urgent(2, "a"), kind: "run_ended" };
  const shown = (log: Parameters<typeof attentionItems>[1]) =>
    attentionItems([], log, new Set()).flatMap((item) =>
      item.kind === "alert" ? item.events.map((event) => event.seq) : [],
    );
  expect([shown([urgent(1, "a"), ended]), shown([ended])]).toEqual([[1], [2]]);
});

it("needs nobody when all is well", () => {
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

it("tells once of a run that waits for money, with what is asked and whose cap it is", () => {
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

it("knows of an agent without money also when the event is out of reach", () => {
  expect(attentionItems([outOfMoney], [], new Set())).toMatchObject([
    { kind: "parked", agentId: "main", message: "no money is left" },
  ]);
});

it("cannot be waved away while it waits, and is gone when the run goes on", () => {
  expect(attentionItems([], [parked(1)], new Set(["id-main-1"]))).toHaveLength(1);
  expect(attentionItems([], [parked(1), sampleEvent(2, { run_key: "p" })], new Set())).toEqual([]);
});

it("puts what is stuck for another reason beside it", () => {
  expect(attentionItems([outOfMoney, stuck], [parked(1), urgent(2, "a")], new Set()).map((item) => item.id)).toEqual([
    "parked/main",
    "stuck/books",
    "main/run/a",
  ]);
});

it("puts questions before everything, and tells of each thing that stands only once", () => {
  const asked = sampleEvent(1, { kind: "decision_asked", run_key: "d", visibility: "action_required" });
  const aside = sampleEvent(2, { kind: "run_quarantined", run_key: "q", visibility: "action_required" });
  const waits = { agent_id: "main", code: "decision_pending", message: "it waits", hint: "answer" };
  const run = {
    run_key: "q",
    agent_id: "main",
    status: "quarantined" as const,
    transitions: 1,
    started_at: "2026-01-01T00:00:00Z",
  };
  const server = { decisions: [sampleDecision()], quarantined: [run] };
  expect(
    attentionItems([waits, stuck], [asked, aside, urgent(3, "a")], new Set(), server).map((item) => item.id),
  ).toEqual(["decision/d1", "quarantined/q", "stuck/books", "main/run/a"]);
  expect(attentionItems([waits], [asked, aside], new Set())).toEqual([]);
});
