import { useMutation, useQueryClient } from "@tanstack/react-query";
import { cancelRun } from "../api/calls";
import { keys } from "../api/keys";
import type { Run } from "../api/types";
import { NotDurableNote } from "../brake/NotDurableNote";
import { dollars, isSpent } from "../budget/money";
import { agentPath, briefingPath, Link } from "../shell/router";
import { oneLine, pluralize } from "../text/number";
import { formatDuration } from "../text/time";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { fallbackOf } from "./round";
import { isOpen, outcomeText, outcomeTone } from "./text";

const TITLE_CHARS_MAX = 80;

/** What the run was asked, how it stands, and the way to stop it. */
export function RunHeader({ run }: { run: Run }) {
  const client = useQueryClient();
  const cancelling = useMutation({
    mutationFn: () => cancelRun(run.run_key),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.run(run.run_key) }),
  });
  const isAsked = cancelling.isSuccess && isOpen(run.outcome);
  const notDurable = cancelling.data && "not_durable" in cancelling.data ? cancelling.data.not_durable : undefined;
  return (
    <div className="page-head">
      <nav aria-label="Where you are" className="crumbs">
        <Link to={briefingPath}>Briefing</Link> / <Link to={agentPath(run.agent_id)}>{run.agent_id}</Link>
      </nav>
      <div className="agent-head">
        <div className="agent-head-text">
          <h1 tabIndex={-1}>
            {run.cause ? `“${oneLine(run.cause.text, TITLE_CHARS_MAX)}”` : `Run of ${run.agent_id}`}
          </h1>
          <p className="lede" role="status">
            <Badge tone={run.parked ? "warn" : outcomeTone(run.outcome)}>
              {run.parked ? "Waits for money" : outcomeText(run.outcome)}
            </Badge>{" "}
            {summary(run)}
          </p>
        </div>
        {isOpen(run.outcome) && (
          <button
            type="button"
            className="button"
            onClick={() => cancelling.mutate()}
            disabled={cancelling.isPending || isAsked}
          >
            <Icon name="cross" /> {isAsked ? "Stopping…" : "Stop this run"}
          </button>
        )}
      </div>
      {isAsked && <NotDurableNote notDurable={notDurable} />}
      {cancelling.error && <ErrorNotice action="stop the run" error={cancelling.error} />}
    </div>
  );
}

/** The run in one line. Doubt and refusal are said even when the run went well otherwise. */
function summary(run: Run): string {
  const fallback = fallbackOf(run);
  const parts = [
    run.ended_at ? `in ${formatDuration(run.duration_ms)}` : "",
    pluralize(run.tool_calls.length, "action"),
    pluralize(run.rounds, "model round"),
    run.token_usage.total_tokens > 0 ? pluralize(run.token_usage.total_tokens, "token") : "",
    isSpent(run.cost_usd) ? dollars(run.cost_usd) : "",
    fallback === undefined ? "" : `fell back to ${fallback}`,
    run.denied.length > 0 ? `${run.denied.length} denied` : "",
    run.unknown.length > 0 ? `${run.unknown.length} with an unknown outcome` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
