import type { PolicyExplanation, RecordedVerdict } from "../api/types";
import { labels } from "../labels";
import { humanizeCode } from "../run/text";
import { agentPath, Link } from "../shell/router";
import { toSentence } from "../text/sentence";
import { visibleText } from "../text/visible";
import { Badge } from "../ui/Badge";
import { InlineText } from "../ui/InlineText";
import {
  changeTexts,
  decidingPolicies,
  differenceText,
  EFFECT_TONES,
  recordedText,
  ruleText,
  verdictNowText,
} from "./text";

/** Why a call is permitted, asked about or denied: the policies, the facts, and what would have to differ. */
export function ExplanationView({ explanation }: { explanation: PolicyExplanation }) {
  const recorded = recordedText(explanation);
  const difference = differenceText(explanation);
  const changes = changeTexts(explanation);
  return (
    <div className="explanation">
      <p>{labels.policy.because(verdictNowText(explanation.effect), ruleText(explanation.rule, explanation.reason))}</p>
      {difference && <p role="note">{difference}</p>}
      {recorded && <p className="quiet">{recorded}</p>}
      <h3>{labels.policy.policies}</h3>
      <ul>
        {decidingPolicies(explanation).map((rule) => (
          <li key={rule}>
            <code>{rule}</code>
          </li>
        ))}
      </ul>
      <h3>{labels.policy.facts}</h3>
      <Facts explanation={explanation} />
      {explanation.effect !== "permit" && (
        <>
          <h3>{labels.policy.change}</h3>
          {changes.length === 0 && (
            <p>{explanation.rule === "unsafe_target" ? labels.policy.changeNever : labels.policy.changeNone}</p>
          )}
          <ul>
            {changes.map((change) => (
              <li key={change}>
                <InlineText text={change} />
              </li>
            ))}
          </ul>
        </>
      )}
      {explanation.recorded && <Recorded recorded={explanation.recorded} />}
      <p>
        <Link to={`${agentPath(explanation.agent_id)}#policies`}>{labels.policy.list}</Link>
      </p>
    </div>
  );
}

function Facts({ explanation }: { explanation: PolicyExplanation }) {
  const { category, command, mode, policy_version: version, stage, targets } = explanation;
  return (
    <dl className="facts stacked">
      <div>
        <dt>{labels.policy.mode}</dt>
        <dd>{labels.policy.modes[mode]}</dd>
      </div>
      {command && (
        <div>
          <dt>{command.is_simple ? labels.policy.commandSimple : labels.policy.commandComplex}</dt>
          <dd>
            <code>{visibleText(command.text)}</code>
          </dd>
        </div>
      )}
      {targets.map((target, place) => (
        <div key={`${place}-${target.target}`}>
          <dt>{target.target === "call" ? labels.policy.wholeCall : labels.policy.target}</dt>
          <dd>
            {target.target !== "call" && <code>{visibleText(target.target)}</code>}{" "}
            <Badge tone={EFFECT_TONES[target.effect]}>{labels.policy.effects[target.effect]}</Badge>{" "}
            <code className="quiet">{target.rule}</code>
            {target.errors?.map((error) => (
              <p key={error} className="wrong">
                {toSentence(error)}
              </p>
            ))}
          </dd>
        </div>
      ))}
      {stage && (
        <div>
          <dt>{labels.policy.stage}</dt>
          <dd>{toSentence(labels.policy.stages[stage])}</dd>
        </div>
      )}
      {category && (
        <div>
          <dt>{labels.policy.category}</dt>
          <dd>{humanizeCode(category)}</dd>
        </div>
      )}
      <div>
        <dt>{labels.policy.version}</dt>
        <dd>
          <code>{version}</code>
        </dd>
      </div>
    </dl>
  );
}

/** The verdict as it was recorded when the call was made. */
function Recorded({ recorded }: { recorded: RecordedVerdict }) {
  const { effect, policy_version: version, reason = "", rule, targets = [] } = recorded;
  const { effects, recordedNone, recordedReason, recordedTargets, recordedTitle, recordedVerdict } = labels.policy;
  return (
    <section aria-label={recordedTitle}>
      <h3>{recordedTitle}</h3>
      {!effect && <p className="quiet">{recordedNone}</p>}
      <dl className="facts stacked">
        {effect && (
          <div>
            <dt>{recordedVerdict}</dt>
            <dd>
              <Badge tone={EFFECT_TONES[effect]}>{effects[effect]}</Badge>
            </dd>
          </div>
        )}
        {reason && (
          <div>
            <dt>{recordedReason}</dt>
            <dd>{toSentence(ruleText(rule, reason))}</dd>
          </div>
        )}
        {targets.length > 0 && (
          <div>
            <dt>{recordedTargets}</dt>
            {targets.map((target) => (
              <dd key={target}>
                <code>{visibleText(target)}</code>
              </dd>
            ))}
          </div>
        )}
        {version && (
          <div>
            <dt>{labels.policy.version}</dt>
            <dd>
              <code>{version}</code>
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}
