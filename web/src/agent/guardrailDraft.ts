// The part of the form for agents that names its guardrails, as the JSON of the API contract.
import type { GuardrailPolicy } from "../api/types";
import { labels } from "../labels";

/** The guardrails as text; empty without guardrails. */
export function guardrailTextOf(policy: GuardrailPolicy | undefined): string {
  return policy === undefined || Object.keys(policy).length === 0 ? "" : JSON.stringify(policy, null, 2);
}

/** The guardrails of a text; null for an empty one. */
export function guardrailPolicyOf(text: string): unknown {
  return text.trim() === "" ? null : JSON.parse(text);
}

/** What is wrong with the text; none if it is an object. The server checks its fields. */
export function guardrailError(text: string): string | undefined {
  const { errors } = labels.agentForm;
  try {
    const policy = guardrailPolicyOf(text);
    return policy === null || (typeof policy === "object" && !Array.isArray(policy)) ? undefined : errors.guardrails;
  } catch {
    return errors.guardrails;
  }
}
