import type { Run, RunLink } from "../api/types";
import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { humanizeCode, outcomeText } from "./text";

/** The run that started this one, and the runs that it started. */
export function RelatedRuns({ run }: { run: Run }) {
  const children = run.children ?? [];
  if (!run.parent && children.length === 0) {
    return null;
  }
  return (
    <section className="panel" aria-labelledby="related-runs-title">
      <h2 id="related-runs-title">{labels.run.related}</h2>
      <ul>
        {run.parent && (
          <li>
            {labels.run.startedBy} <RunLinkView link={run.parent} />
          </li>
        )}
        {children.map((child) => (
          <li key={child.run_key}>
            {labels.run.started} <RunLinkView link={child} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function RunLinkView({ link }: { link: RunLink }) {
  return (
    <>
      <Link to={runPath(link.agent_id, link.run_key)}>{labels.run.linkTo(link.agent_id)}</Link>:{" "}
      {outcomeText(link.status)}
      {link.held && labels.run.held(humanizeCode(link.held))}
    </>
  );
}
