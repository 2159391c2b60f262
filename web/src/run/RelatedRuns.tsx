import type { Run, RunLink } from "../api/types";
import { Link, runPath } from "../shell/router";
import { humanizeCode } from "./text";

/** The run that started this one, and the runs that it started. Nothing where it stands alone. */
export function RelatedRuns({ run }: { run: Run }) {
  const children = run.children ?? [];
  if (!run.parent && children.length === 0) {
    return null;
  }
  return (
    <section className="panel" aria-labelledby="related-runs-title">
      <h2 id="related-runs-title">Runs it belongs to</h2>
      <ul>
        {run.parent && (
          <li>
            Started by <RunLinkView link={run.parent} />
          </li>
        )}
        {children.map((child) => (
          <li key={child.run_key}>
            Started <RunLinkView link={child} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function RunLinkView({ link }: { link: RunLink }) {
  return (
    <>
      <Link to={runPath(link.agent_id, link.run_key)}>a run of {link.agent_id}</Link>: {humanizeCode(link.status)}
      {link.held && `, held (${humanizeCode(link.held)})`}
    </>
  );
}
