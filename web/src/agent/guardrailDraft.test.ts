import { expect, it } from "vitest";
import { guardrailError, guardrailPolicyOf, guardrailTextOf } from "./guardrailDraft";

const POLICY = { tool_guardrails: [{ name: "g", action: "block" as const, phrases: ["x"] }] };

it("keeps guardrails over a form", () => {
  expect(guardrailPolicyOf(guardrailTextOf(POLICY))).toEqual(POLICY);
  expect(guardrailTextOf({})).toBe("");
  expect(guardrailTextOf(undefined)).toBe("");
  expect(guardrailPolicyOf(" ")).toBeNull();
});

it("refuses guardrails that are not one object", () => {
  expect(guardrailError(JSON.stringify(POLICY))).toBeUndefined();
  expect(guardrailError("")).toBeUndefined();
  for (const text of ["{", "[]", "1", '"x"']) expect(guardrailError(text), text).toBeDefined();
});
