import type { Run, RunLink } from "../api/types";
import { labels } from "../labels";
import { Link, runPath } from "../shell/router";
import { humanizeCode, outcomeText } from "./text";

/** The run that started this one, the runs that it started, and the runs that run it again. */
export function RelatedRuns({ run }: { run: Run }) {
  const children = run.children ?? [];
  const retriedBy = run.retried_by ?? [];
  if (!run.parent && !run.retries && children.length + retriedBy.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="related-runs-title">
      <h2 id="related-runs-title">{labels.run.related}</h2>
      <ul>
        {run.parent && (
          <li>
            {labels.run.startedBy} <RunLinkView link={run.parent} />
          </li>
        )}
        {run.retries && (
          <li>
            {labels.run.retries} <RunLinkView link={run.retries} />
          </li>
        )}
        {retriedBy.map((one) => (
          <li key={one.run_key}>
            {labels.run.retriedBy} <RunLinkView link={one} />
          </li>
        ))}
        {children.map((child) => (
          <li key={child.run_key}>
            {labels.run.started} <RunLinkView link={child} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function RunLinkView({ link }: { link: Omit<RunLink, "status"> & { status: string } }) {
  return (
    <>
      <Link to={runPath(link.agent_id, link.run_key)}>{labels.run.linkTo(link.agent_id)}</Link>:{" "}
      {outcomeText(link.status)}
      {link.held && labels.run.held(humanizeCode(link.held))}
    </>
  );
}
