import type { AuditDecision, AuditEntry } from "../api/types";
import { labels } from "../labels";
import type { Tone } from "../run/text";
import { agentPath, Link, runPath } from "../shell/router";
import { Badge } from "../ui/Badge";
import { Time } from "../ui/Time";

const TONES = { permit: "good", ask: "warn", deny: "bad" } satisfies Record<AuditDecision, Tone>;

/** Audit entries of several agents, newest first. */
export function AuditTable({ entries, isStale }: { entries: readonly AuditEntry[]; isStale: boolean }) {
  const { columns } = labels.audit;
  return (
    <div className="panel run-table" aria-busy={isStale}>
      <table className="table">
        <caption className="hidden">{labels.audit.list}</caption>
        <thead>
          <tr>
            <th scope="col">{columns.subject}</th>
            <th scope="col">{columns.decision}</th>
            <th scope="col">{columns.stage}</th>
            <th scope="col">{columns.reason}</th>
            <th scope="col">{columns.agent}</th>
            <th scope="col">{columns.run}</th>
            <th scope="col">{columns.time}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <AuditRow key={`${entry.agent_id} ${entry.seq}`} entry={entry} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AuditRow({ entry }: { entry: AuditEntry }) {
  const { agent_id: agentId, run_key: runKey, decision, rule, reason } = entry;
  return (
    <tr>
      <th scope="row">{entry.operation_id ? entry.tool : labels.audit.modelRequest}</th>
      <td>
        <Badge tone={TONES[decision]}>{labels.audit.decisions[decision]}</Badge>
      </td>
      <td className="quiet">{labels.audit.stages[entry.stage]}</td>
      <td className="audit-reason">
        <code>{rule}</code> {reason}
      </td>
      <td>
        <Link to={agentPath(agentId)}>{agentId}</Link>
      </td>
      <td>{runKey && <Link to={runPath(agentId, runKey)}>{runKey.slice(0, 12)}</Link>}</td>
      <td className="quiet">
        <Time at={entry.at} />
      </td>
    </tr>
  );
}
