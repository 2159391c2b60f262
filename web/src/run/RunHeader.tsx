import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { cancelRun } from "../api/calls";
import { keys } from "../api/keys";
import type { Run } from "../api/types";
import { NotDurableNote } from "../brake/NotDurableNote";
import { dollars, isSpent } from "../budget/money";
import { labels } from "../labels";
import { agentPath, briefingPath, Link, threadPath } from "../shell/router";
import { previewText } from "../text/preview";
import { formatDuration } from "../text/time";
import { threadTitle } from "../transcript/thread";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { RetryDialog } from "./RetryDialog";
import { fallbackOf } from "./round";
import { isOpen, isRetryable, runState } from "./text";

const TITLE_CHARS_MAX = 80;

/** The message of a run, its status, and the button that cancels it. */
export function RunHeader({ run }: { run: Run }) {
  const client = useQueryClient();
  const cancelling = useMutation({
    mutationFn: () => cancelRun(run.run_key),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.run(run.run_key) }),
  });
  const [isRetrying, setRetrying] = useState(false);
  const { text, tone } = runState(run.outcome, run.waiting_for);
  const isAsked = cancelling.isSuccess && isOpen(run.outcome);
  const notDurable = cancelling.data && "not_durable" in cancelling.data ? cancelling.data.not_durable : undefined;
  return (
    <div className="page-head">
      <nav aria-label={labels.common.breadcrumbs} className="crumbs">
        <Link to={briefingPath}>{labels.common.briefing}</Link> /{" "}
        <Link to={agentPath(run.agent_id)}>{run.agent_id}</Link>
        {run.thread !== undefined && (
          <>
            {" "}
            / <Link to={threadPath(run.agent_id, run.thread)}>{threadTitle(run.thread)}</Link>
          </>
        )}
      </nav>
      <div className="agent-head">
        <div className="agent-head-text">
          <h1 tabIndex={-1}>
            {run.cause
              ? labels.common.quote(previewText(run.cause.text, TITLE_CHARS_MAX))
              : labels.run.tabTitle(run.agent_id)}
          </h1>
          <p className="lede" role="status">
            <Badge tone={tone}>{text}</Badge> {summary(run)}
          </p>
        </div>
        {isRetryable(run.outcome) && (
          <button type="button" className="button" onClick={() => setRetrying(true)}>
            <Icon name="again" /> {labels.retry.button}
          </button>
        )}
        {isOpen(run.outcome) && (
          <button
            type="button"
            className="button"
            onClick={() => cancelling.mutate()}
            disabled={cancelling.isPending || isAsked}
          >
            <Icon name="cross" /> {isAsked ? labels.run.cancelling : labels.run.cancel}
          </button>
        )}
      </div>
      {isRetrying && <RetryDialog run={run} onClose={() => setRetrying(false)} />}
      {isAsked && <NotDurableNote notDurable={notDurable} />}
      {cancelling.error && <ErrorNotice action={labels.run.cancelAction} error={cancelling.error} />}
    </div>
  );
}

/** The run in one line. Denied actions and unknown outcomes are named even when the run completed. */
function summary(run: Run): string {
  const fallback = fallbackOf(run);
  const parts = [
    run.ended_at ? labels.run.in(formatDuration(run.duration_ms)) : "",
    labels.run.actions(run.tool_calls.length),
    labels.run.rounds(run.rounds),
    run.token_usage.total_tokens > 0 ? labels.run.tokenCount(run.token_usage.total_tokens) : "",
    isSpent(run.cost_usd) ? dollars(run.cost_usd) : "",
    fallback === undefined ? "" : labels.run.fallbackTo(fallback),
    run.denied.length > 0 ? labels.run.denied(run.denied.length) : "",
    run.unknown.length > 0 ? labels.run.unknownOutcomes(run.unknown.length) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
