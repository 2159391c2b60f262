// Texts of verdicts and of what would change them.
import type { PolicyEffect, PolicyExplanation } from "../api/types";
import { labels } from "../labels";
import { humanizeCode, ruleMeaning, type Tone } from "../run/text";
import { toSentence } from "../text/sentence";

export const EFFECT_TONES: Record<PolicyEffect, Tone> = { permit: "good", ask: "warn", deny: "bad" };

/** What the policies in force say about the call now. */
export function verdictNowText(effect: PolicyEffect): string {
  const { effects, now, nowNeeds } = labels.policy;
  return (effect === "ask" ? nowNeeds : now)(effects[effect]);
}

/** What the rule says: in the words of the page for a rule of the program, and of its author for a written one. */
export function ruleText(rule: string, reason: string): string {
  return ruleMeaning(rule) ?? reason;
}

/** Each single change that makes the verdict less strict, as a sentence. */
export function changeTexts({ alternatives, foreign_targets: foreign }: PolicyExplanation): string[] {
  const { changeTo, changeWithout, effects } = labels.policy;
  const others = alternatives.map(({ change, effect }) => {
    const without = /^without (.*)$/s.exec(change)?.[1];
    return without === undefined ? changeTo(change, effects[effect]) : changeWithout(without, effects[effect]);
  });
  return [...(foreign?.changes ?? []).map(toSentence), ...others];
}

/** The policies that decided, each once. */
export function decidingPolicies({ rule, targets }: PolicyExplanation): string[] {
  const named = targets.flatMap((target) => target.policies);
  return named.length === 0 ? [rule] : [...new Set(named)];
}

/**
 * How the verdict differs from the recorded one, if the server says that it does. With the same verdict, only the server
 * knows which rule decided then: the recorded rule is the error of a call that failed.
 */
export function differenceText({ effect, note, recorded }: PolicyExplanation): string | undefined {
  if (note === undefined) return undefined;
  if (recorded?.effect === undefined || recorded.effect === effect) return toSentence(note);
  return labels.policy.differs(labels.policy.effects[recorded.effect], labels.policy.effects[effect]);
}

/** How the call ended when it was made. */
export function recordedText({ recorded }: PolicyExplanation): string | undefined {
  if (!recorded) return undefined;
  return labels.policy.recorded(labels.step.statuses[recorded.status], recorded.rule || humanizeCode(recorded.status));
}
