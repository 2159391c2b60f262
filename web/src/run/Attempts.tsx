import { labels } from "../labels";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import { Causes } from "./Causes";
import {
  attemptEndText,
  attemptUsageText,
  type Diagnostics,
  diagnosticsOf,
  gateText,
  type ModelAttempt,
} from "./round";
import { humanizeCode } from "./text";

/** Every attempt of one model round: its number, end, usage and rule. */
export function Attempts({ attempts }: { attempts: readonly ModelAttempt[] }) {
  const recorded = attempts.filter((one) => one.attempt);
  if (recorded.length === 0) return null;
  return (
    <ol className="attempts" aria-label={labels.attempt.list}>
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
        <b>{attempt.model_ref}</b> <span className="quiet">{labels.attempt.by(attempt.provider)}</span>
        <span className="quiet">{labels.attempt.number(attempt.attempt, attempt.max_attempts)}</span>
        <Badge tone={tone}>{text}</Badge>
        {attempt.failure_kind && <span>{humanizeCode(attempt.failure_kind)}</span>}
      </p>
      <p className="attempt-usage">{attemptUsageText(attempt)}</p>
      {gate !== "" && attempt.outcome !== "succeeded" && !(attempt.rule in labels.attempt.rules) && (
        <p className="attempt-usage">{gate}.</p>
      )}
      {diagnostics && <TransportDiagnostics diagnostics={diagnostics} />}
      {fallbackTo && (
        <p className="fallback">
          <Icon name="send" /> {labels.attempt.fallbackTo(fallbackTo)}
        </p>
      )}
    </li>
  );
}

function TransportDiagnostics({ diagnostics: { facts, causes } }: { diagnostics: Diagnostics }) {
  return (
    <details className="step-details">
      <summary>{labels.attempt.diagnostics}</summary>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Causes causes={causes} />
    </details>
  );
}
