// The record of a firing, as text.
import type { ScheduledExecution } from "../api/types";
import { labels } from "../labels";
import { humanizeCode, outcomeText, type Tone } from "../run/text";

/** What became of a firing, and why it did not run. */
export function executionText(execution: ScheduledExecution): string {
  const { outcome, reason, run_status: status } = execution;
  const { outcomes, reasons } = labels.schedule;
  if (outcome === "run") return status ? outcomeText(status) : outcomeText("queued");
  const text = outcomes[outcome] ?? humanizeCode(outcome);
  return reason ? `${text}: ${reasons[reason] ?? humanizeCode(reason)}` : text;
}

export function executionTone({ outcome, run_status: status }: ScheduledExecution): Tone {
  if (outcome === "refused" || outcome === "unreadable") return "bad";
  if (outcome !== "run") return "quiet";
  if (status === "completed") return "good";
  return status === "failed" || status === "quarantined" ? "bad" : "busy";
}
