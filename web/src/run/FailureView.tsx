import type { FailureArtifact } from "../api/types";
import { toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { humanizeCode } from "./text";

/** What is kept of a failure: first a sentence, then everything for whoever looks closely. */
export function FailureView({ failure }: { failure: FailureArtifact }) {
  const facts: [string, string | undefined][] = [
    ["What", failure.kind],
    ["Where", humanizeCode(failure.category)],
    ["Provider", failure.provider],
    ["Model", failure.model_ref],
    ["HTTP status", failure.status?.toString()],
    ...Object.entries(failure.metadata ?? {}).map(([name, value]): [string, string] => [humanizeCode(name), value]),
  ];
  return (
    <section className="panel failure" aria-labelledby="failure-title">
      <h2 id="failure-title">
        <Icon name="knot" /> What went wrong
      </h2>
      <p className="failure-text">{toSentence(failure.summary)}</p>
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
      {failure.source_chain && failure.source_chain.length > 0 && (
        <ol className="chain" aria-label="What it was caused by, outermost first">
          {failure.source_chain.map((link, index) => (
            <li key={index}>{link}</li>
          ))}
        </ol>
      )}
    </section>
  );
}
