import type { TranscriptRun } from "../api/types";
import { labels } from "../labels";
import { NextSteps } from "../run/NextSteps";
import { runState } from "../run/text";
import { Link, runPath } from "../shell/router";
import { visibleText } from "../text/visible";
import { Badge } from "../ui/Badge";

interface RunEndProps {
  agentId: string;
  runKey: string;
  run: TranscriptRun;
}

/** How a run ended without success, or why it cannot continue: the cause, and what to do next. */
export function RunEnd({ agentId, runKey, run }: RunEndProps) {
  const { status, waiting_for: waitingFor, explanation, retried_by: retriedBy } = run;
  const { text, tone } = runState(status, waitingFor);
  return (
    <div className="run-end" role="status">
      <p>
        <Badge tone={tone}>{text}</Badge> {visibleText(explanation.message)}
      </p>
      <div className="attention-actions">
        {retriedBy ? (
          <Link to={runPath(agentId, retriedBy)}>{labels.run.retriedLink}</Link>
        ) : (
          <NextSteps agentId={agentId} runKey={runKey} steps={explanation.next_steps} />
        )}
        <Link to={runPath(agentId, runKey)}>{labels.common.viewRun}</Link>
      </div>
    </div>
  );
}
