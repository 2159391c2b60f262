import type { FailureArtifact, Run } from "../api/types";
import { labels } from "../labels";
import { capitalize, toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { Causes } from "./Causes";
import { NextSteps } from "./NextSteps";
import { humanizeCode } from "./text";

/** The failure of a run: a sentence first, then its details. */
export function FailureView({ failure, run }: { failure: FailureArtifact; run: Run }) {
  // Running it again stands in the header of the page.
  const steps = run.explanation?.next_steps.filter((step) => step !== "retry") ?? [];
  const names = labels.run.failureFacts;
  const facts: [string, string | undefined][] = [
    [names.kind, failure.kind],
    [names.category, humanizeCode(failure.category)],
    [names.provider, failure.provider],
    [names.model, failure.model_ref],
    [names.status, failure.status?.toString()],
    ...Object.entries(failure.metadata ?? {}).map(([name, value]): [string, string] => [
      capitalize(humanizeCode(name)),
      value,
    ]),
  ];
  return (
    <section className="panel failure" aria-labelledby="failure-title">
      <h2 id="failure-title">
        <Icon name="knot" /> {labels.run.failure}
      </h2>
      <p className="failure-text">{toSentence(failure.summary)}</p>
      {steps.length > 0 && (
        <div className="attention-actions">
          <NextSteps agentId={run.agent_id} runKey={run.run_key} steps={steps} />
        </div>
      )}
      <dl className="facts">
        {facts.flatMap(([name, value]) =>
          value === undefined
            ? []
            : [
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>,
              ],
        )}
      </dl>
      <Causes causes={failure.source_chain ?? []} />
    </section>
  );
}
