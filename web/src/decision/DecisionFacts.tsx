import type { Decision } from "../api/types";
import { labels } from "../labels";
import { Link, runPath, usePathname } from "../shell/router";
import { Time } from "../ui/Time";
import { blastRadiusText, deadlineText } from "./text";

/** How far the action reaches, when it was asked, and until when it can be answered. */
export function DecisionFacts({ decision }: { decision: Decision }) {
  const path = runPath(decision.agent_id, decision.run_key);
  const isHere = usePathname() === path;
  return (
    <dl className="facts">
      {decision.blast_radius !== "unknown" && (
        <div>
          <dt>{labels.decision.blastRadius}</dt>
          <dd>{blastRadiusText(decision.blast_radius)}</dd>
        </div>
      )}
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
      {!isHere && (
        <div>
          <dt>{labels.decision.run}</dt>
          <dd>
            <Link to={path}>{labels.common.viewRun}</Link>
          </dd>
        </div>
      )}
    </dl>
  );
}
