import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import {
  attemptEndText,
  attemptUsageText,
  type Diagnostics,
  diagnosticsOf,
  gateText,
  type ModelAttempt,
} from "./round";
import { humanizeCode } from "./text";

/** Everybody who was asked in one model round: which attempt it was, how it ended, what it took, by which rule. */
export function Attempts({ tries }: { tries: readonly ModelAttempt[] }) {
  const recorded = tries.filter((one) => one.attempt);
  if (recorded.length === 0) return null;
  return (
    <ol className="attempts" aria-label="Attempts">
      {recorded.map((one) => (
        <AttemptView key={one.step.operation_id} one={one} />
      ))}
    </ol>
  );
}

function AttemptView({ one: { attempt, fallbackTo } }: { one: ModelAttempt }) {
  if (!attempt) return null;
  const { text, tone } = attemptEndText(attempt);
  const gate = gateText(attempt);
  const diagnostics = diagnosticsOf(attempt);
  return (
    <li className="attempt">
      <p className="attempt-head">
        <b>{attempt.model_ref}</b> <span className="quiet">by {attempt.provider}</span>
        <span className="quiet">
          attempt {attempt.attempt} of {attempt.max_attempts}
        </span>
        <Badge tone={tone}>{text}</Badge>
        {attempt.failure_kind && <span>{humanizeCode(attempt.failure_kind)}</span>}
      </p>
      <p className="attempt-usage">{attemptUsageText(attempt)}</p>
      {gate !== "" && <p className="attempt-usage">{gate}.</p>}
      {diagnostics && <TransportDiagnostics diagnostics={diagnostics} />}
      {fallbackTo && (
        <p className="fallback">
          <Icon name="send" /> Fell back to <b>{fallbackTo}</b>
        </p>
      )}
    </li>
  );
}

function TransportDiagnostics({ diagnostics: { facts, causes } }: { diagnostics: Diagnostics }) {
  return (
    <details className="step-details">
      <summary>What happened on the way</summary>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {causes.length > 0 && (
        <ol className="chain" aria-label="What it was caused by, outermost first">
          {causes.map((cause, index) => (
            <li key={index}>{cause}</li>
          ))}
        </ol>
      )}
    </details>
  );
}
