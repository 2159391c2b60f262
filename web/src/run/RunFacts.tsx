import type { Run } from "../api/types";
import { dollars, isSpent } from "../budget/money";
import { labels } from "../labels";
import { Time } from "../ui/Time";
import { tokenText } from "./round";

/** Start, model, workspace, tokens, cost and key of a run. */
export function RunFacts({ run }: { run: Run }) {
  const requested = run.provider_attempt_timeline?.requested_model_ref;
  const answered = run.provider_attempt_timeline?.winning_model_ref ?? run.model;
  const tokens = tokenText(run.token_usage);
  return (
    <section className="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">{labels.run.details}</h2>
      <dl className="facts stacked">
        <div>
          <dt>{labels.run.started}</dt>
          <dd>
            <Time at={run.started_at} />
          </dd>
        </div>
        {answered && (
          <div>
            <dt>{labels.run.model}</dt>
            <dd>
              {answered}
              {requested && requested !== answered && <span className="quiet">{labels.run.insteadOf(requested)}</span>}
            </dd>
          </div>
        )}
        {run.workspace && (
          <div>
            <dt>{labels.run.workspace}</dt>
            <dd>
              <code>{run.workspace}</code>
            </dd>
          </div>
        )}
        {tokens !== "" && (
          <div>
            <dt>{labels.run.tokens}</dt>
            <dd>{tokens}</dd>
          </div>
        )}
        <div>
          <dt>{labels.run.cost}</dt>
          <dd>{isSpent(run.cost_usd) ? dollars(run.cost_usd) : labels.run.costNone}</dd>
        </div>
        <div>
          <dt>{labels.run.key}</dt>
          <dd>
            <code>{run.run_key}</code>
          </dd>
        </div>
      </dl>
    </section>
  );
}
