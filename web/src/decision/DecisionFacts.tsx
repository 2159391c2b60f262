import type { Decision } from "../api/types";
import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { Time } from "../ui/Time";
import { blastRadiusText, deadlineText } from "./text";

/** How far the action reaches, when it was asked, and until when it can be answered. */
export function DecisionFacts({ decision }: { decision: Decision }) {
  return (
    <dl className="facts">
      <div>
        <dt>{labels.decision.blastRadius}</dt>
        <dd>{blastRadiusText(decision.blast_radius)}</dd>
      </div>
      <div>
        <dt>{labels.decision.asked}</dt>
        <dd>
          <Time at={decision.asked_at} />
        </dd>
      </div>
      {decision.deadline_at && (
        <div>
          <dt>{labels.decision.deadline}</dt>
          <dd>
            <Time at={decision.deadline_at} isFuture />, {deadlineText(decision.severity)}
          </dd>
        </div>
      )}
      <div>
        <dt>{labels.decision.run}</dt>
        <dd>
          <Link to={runPath(decision.agent_id, decision.run_key)}>{labels.common.viewRun}</Link>
        </dd>
      </div>
    </dl>
  );
}
