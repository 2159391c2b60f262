import type { PolicyExplanation } from "../api/types";
import { labels } from "../labels";
import { humanizeCode } from "../run/text";
import { agentPath, Link } from "../shell/router";
import { toSentence } from "../text/sentence";
import { visibleText } from "../text/visible";
import { Badge } from "../ui/Badge";
import { InlineText } from "../ui/InlineText";
import { changeTexts, decidingPolicies, EFFECT_TONES, recordedText, ruleText, verdictNowText } from "./text";

/** Why a call is permitted, asked about or denied: the policies, the facts, and what would have to differ. */
export function ExplanationView({ explanation }: { explanation: PolicyExplanation }) {
  const recorded = recordedText(explanation);
  const changes = changeTexts(explanation);
  return (
    <div className="explanation">
      <p>{labels.policy.because(verdictNowText(explanation.effect), ruleText(explanation.rule, explanation.reason))}</p>
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
          {changes.length === 0 && <p>{labels.policy.changeNone}</p>}
          <ul>
            {changes.map((change) => (
              <li key={change}>
                <InlineText text={change} />
              </li>
            ))}
          </ul>
        </>
      )}
      <p>
        <Link to={`${agentPath(explanation.agent_id)}#policies`}>{labels.policy.list}</Link>
      </p>
    </div>
  );
}

function Facts({ explanation }: { explanation: PolicyExplanation }) {
  const { category, command, mode, policy_version: version, targets } = explanation;
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
