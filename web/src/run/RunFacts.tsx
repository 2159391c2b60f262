import type { Run } from "../api/types";
import { dollars, isSpent } from "../budget/money";
import { Time } from "../ui/Time";
import { tokenText } from "./round";

export function RunFacts({ run }: { run: Run }) {
  const requested = run.provider_attempt_timeline?.requested_model_ref;
  const answered = run.provider_attempt_timeline?.winning_model_ref ?? run.model;
  const tokens = tokenText(run.token_usage);
  return (
    <section className="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">Facts</h2>
      <dl className="facts stacked">
        <div>
          <dt>Began</dt>
          <dd>
            <Time at={run.started_at} />
          </dd>
        </div>
        {answered && (
          <div>
            <dt>Who answered</dt>
            <dd>
              {answered}
              {requested && requested !== answered && <span className="quiet">, in the place of {requested}</span>}
            </dd>
          </div>
        )}
        {run.workspace && (
          <div>
            <dt>Worked in</dt>
            <dd>
              <code>{run.workspace}</code>
            </dd>
          </div>
        )}
        {tokens !== "" && (
          <div>
            <dt>Tokens</dt>
            <dd>{tokens}</dd>
          </div>
        )}
        <div>
          <dt>Cost</dt>
          <dd>{isSpent(run.cost_usd) ? dollars(run.cost_usd) : "nothing"}</dd>
        </div>
        <div>
          <dt>Run key</dt>
          <dd>
            <code>{run.run_key}</code>
          </dd>
        </div>
      </dl>
    </section>
  );
}
