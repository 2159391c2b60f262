// Why a run is quarantined, as sentences. The server sends a fault as JSON: a stable code and a reason.
import type { Step } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { humanizeCode, statusText } from "./text";

export interface FaultText {
  reason: string;
  nextStep: string;
}

/** What happened to a quarantined run, and what to do next. */
export function faultText(fault: string | undefined): FaultText {
  const { code, why } = parseFault(fault);
  return {
    reason: knownReason(code, why) ?? otherReason(code, why),
    nextStep: labels.fault.nextSteps[code] ?? labels.fault.nextStep,
  };
}

/** The reason in the page's words; undefined where the code or the server's wording is unknown here. */
function knownReason(code: string, why: string): string | undefined {
  if (code === "run_state_invalid") {
    const [, detail] = /^run [0-9a-f]{64}\b[^:]*: (.+)$/s.exec(why) ?? [];
    return detail && toSentence(labels.fault.broken(detail));
  }
  if (code === "crash_loop") {
    const [, claims] = /\b(\d+) times\b/.exec(why) ?? [];
    return claims && labels.fault.crashLoop(claims);
  }
  if (code === "machine_version_unsupported") {
    const [, machine, version] = /machine (\S+) version (\d+)/.exec(why) ?? [];
    return machine && version && labels.fault.machineVersion(machine, version);
  }
  return undefined;
}

/** The server's own words without the run key, which is on the screen already. */
function otherReason(code: string, why: string): string {
  if (why !== "") return toSentence(why.replace(/\brun [0-9a-f]{64}\b/, "the run"));
  return code === "" ? labels.fault.unknown : labels.fault.unknownCode(humanizeCode(code));
}

/** Reads a fault. A text that is not JSON is the reason itself. */
function parseFault(fault: string | undefined): { code: string; why: string } {
  if (!fault) return { code: "", why: "" };
  try {
    const fields = JSON.parse(fault) as Record<string, unknown> | null;
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    return { code: text(fields?.code), why: text(fields?.why) };
  } catch {
    return { code: "", why: fault };
  }
}

/** The action at which a run stopped, from its steps. */
export function lastActionText(steps: readonly Step[]): string {
  const last = steps.at(-1);
  if (!last) return labels.fault.noAction;
  const name = last.kind === "model" ? labels.fault.modelRequest(last.name) : last.name;
  return labels.fault.lastAction(name, statusText(last).text);
}
