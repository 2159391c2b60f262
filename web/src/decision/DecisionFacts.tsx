import type { Decision } from "../api/types";
import { Link, runPath } from "../shell/router";
import { Time } from "../ui/Time";
import { blastRadiusText, deadlineText } from "./text";

/** How far the action reaches, when it was asked, and until when it can be answered. */
export function DecisionFacts({ decision }: { decision: Decision }) {
  return (
    <dl className="facts">
      <div>
        <dt>Reaches</dt>
        <dd>{blastRadiusText(decision.blast_radius)}</dd>
      </div>
      <div>
        <dt>Asked</dt>
        <dd>
          <Time at={decision.asked_at} />
        </dd>
      </div>
      {decision.deadline_at && (
        <div>
          <dt>Deadline</dt>
          <dd>
            <Time at={decision.deadline_at} isFuture />, {deadlineText(decision.severity)}
          </dd>
        </div>
      )}
      <div>
        <dt>Run</dt>
        <dd>
          <Link to={runPath(decision.agent_id, decision.run_key)}>See what led to it</Link>
        </dd>
      </div>
    </dl>
  );
}
