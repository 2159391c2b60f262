import { expect, it } from "vitest";
import { sampleFailedRuns, sampleRunSummary } from "../api/samples";
import { itemId, parkedAgents, shownItems } from "./attention";

const stuck = (code: string) =>
  ({ kind: "stuck_agent", agent: { agent_id: "books", code, message: "it cannot", hint: "try" } }) as const;
const parked = { kind: "parked_run", run: sampleRunSummary({ run_key: "p", agent_id: "books" }) } as const;

it("lists a stuck agent only if no other item shows the reason", () => {
  const items = [parked, stuck("budget_exceeded"), stuck("model_unknown")];
  expect(shownItems(items).map(itemId)).toEqual(["parked_run/p", "stuck/books"]);
  expect([...parkedAgents(items)]).toEqual(["books"]);
});

it("keeps the id of a group of failures when another one joins it", () => {
  const more = sampleFailedRuns({ run_keys: ["new", ...sampleFailedRuns().run_keys] });
  expect(itemId(more)).toBe(itemId(sampleFailedRuns()));
});
