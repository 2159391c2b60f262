import type { Run, RunLink } from "../api/types";
import { Link, runPath } from "../shell/router";
import { spaced } from "./words";

/** The run that started this one, and the runs that it started. Nothing where it stands alone. */
export function Family({ run }: { run: Run }) {
  const children = run.children ?? [];
  if (!run.parent && children.length === 0) {
    return null;
  }
  return (
    <section className="panel" aria-labelledby="family-title">
      <h2 id="family-title">Runs it belongs to</h2>
      <ul>
        {run.parent && (
          <li>
            Started by <Named link={run.parent} />
          </li>
        )}
        {children.map((child) => (
          <li key={child.run_key}>
            Started <Named link={child} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Named({ link }: { link: RunLink }) {
  return (
    <>
      <Link to={runPath(link.agent_id, link.run_key)}>a run of {link.agent_id}</Link>: {spaced(link.status)}
      {link.held && `, held (${spaced(link.held)})`}
    </>
  );
}
