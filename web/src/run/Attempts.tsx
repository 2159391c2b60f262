import { Badge } from "../ui/Badge";
import { Glyph } from "../ui/Glyph";
import { type Diagnostics, diagnosticsOf, endingWords, leaveWords, type Try, tookWords } from "./round";
import { spaced } from "./words";

/** Everybody who was asked in one model round: which attempt it was, how it ended, what it took, by which rule. */
export function Attempts({ tries }: { tries: readonly Try[] }) {
  const kept = tries.filter((one) => one.attempt);
  if (kept.length === 0) return null;
  return (
    <ol className="attempts" aria-label="Attempts">
      {kept.map((one) => (
        <AttemptView key={one.step.operation_id} one={one} />
      ))}
    </ol>
  );
}

function AttemptView({ one: { attempt, fellBackTo } }: { one: Try }) {
  if (!attempt) return null;
  const { words, tone } = endingWords(attempt);
  const leave = leaveWords(attempt);
  const diagnostics = diagnosticsOf(attempt);
  return (
    <li className="attempt">
      <p className="attempt-head">
        <b>{attempt.model_ref}</b> <span className="quiet">by {attempt.provider}</span>
        <span className="quiet">
          attempt {attempt.attempt} of {attempt.max_attempts}
        </span>
        <Badge tone={tone}>{words}</Badge>
        {attempt.failure_kind && <span>{spaced(attempt.failure_kind)}</span>}
      </p>
      <p className="attempt-took">{tookWords(attempt)}</p>
      {leave !== "" && <p className="attempt-took">{leave}.</p>}
      {diagnostics && <OnTheWay diagnostics={diagnostics} />}
      {fellBackTo && (
        <p className="fell-back">
          <Glyph name="send" /> Fell back to <b>{fellBackTo}</b>
        </p>
      )}
    </li>
  );
}

function OnTheWay({ diagnostics: { facts, causes } }: { diagnostics: Diagnostics }) {
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
