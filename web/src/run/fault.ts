// Why a run is quarantined, as sentences. The server sends a fault as JSON: a stable code and a reason.
import type { Step } from "../api/types";
import { toSentence } from "../text/sentence";
import { humanizeCode, statusText } from "./text";

export interface FaultText {
  reason: string;
  nextStep: string;
}

const NEXT_STEPS: Record<string, string> = {
  run_broken: "Resume the run after you restore the missing data, or abandon it.",
  crash_loop: "Run `wakeful doctor` to find the cause, then resume or abandon the run.",
  machine_version_unsupported: "Resume the run with the version of Wakeful that started it, or abandon it.",
};

/** What happened to a quarantined run, and what to do next. */
export function faultText(fault: string | undefined): FaultText {
  const { code, why } = parseFault(fault);
  const nextStep = NEXT_STEPS[code] ?? "Resume the run to try again, or abandon it.";
  return { reason: reasonText(code, why) ?? otherReason(code, why), nextStep };
}

/** A reason in the page's words; none where the code or the server's wording is unknown here. */
function reasonText(code: string, why: string): string | undefined {
  if (code === "run_broken") {
    const [, detail] = /^run [0-9a-f]{64}\b[^:]*: (.+)$/s.exec(why) ?? [];
    return detail && toSentence(`Wakeful cannot read the stored state of this run: ${detail}`);
  }
  if (code === "crash_loop") {
    const [, claims] = /\b(\d+) times\b/.exec(why) ?? [];
    return claims && `Wakeful claimed this run ${claims} times and it made no progress.`;
  }
  if (code === "machine_version_unsupported") {
    const [, machine, version] = /machine (\S+) version (\d+)/.exec(why) ?? [];
    return machine && `This run needs ${machine} version ${version}, which this version of Wakeful does not support.`;
  }
  return undefined;
}

/** The server's own words without the run key, which the reader has on the screen already. */
function otherReason(code: string, why: string): string {
  if (why !== "") return toSentence(why.replace(/\brun [0-9a-f]{64}\b/, "the run"));
  return code === "" ? "This run cannot continue." : `This run cannot continue (${humanizeCode(code)}).`;
}

/** Reads a fault. Text that is not JSON is taken as the reason. */
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

/** Which action the run was at, from its steps. */
export function lastActionText(steps: readonly Step[]): string {
  const last = steps.at(-1);
  if (!last) return "No action has started.";
  const name = last.kind === "model" ? `model request to ${last.name}` : last.name;
  return `Last action: ${name} (${statusText(last.status).text}).`;
}
