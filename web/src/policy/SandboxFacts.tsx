import type { SandboxPolicy } from "../api/types";
import { labels } from "../labels";

const { sandbox } = labels.policy;

/** More denied paths than this are folded: most are places of credentials, which are the same for every agent. */
const DENIED_SHOWN_MAX = 3;

/** What the sandbox of an agent allows, and the limits of its tools. */
export function SandboxFacts({ policy }: { policy: SandboxPolicy }) {
  const { filesystem_scope: files, network_scope: network, resource_limits: limits } = policy;
  const paths = (access: string) =>
    files.allowed_paths.filter((allowed) => allowed.access === access).map(({ path }) => path);
  return (
    <>
      <h3>{sandbox.title}</h3>
      <dl className="facts">
        <Fact name={sandbox.write} values={paths("write")} />
        <Fact name={sandbox.read} values={paths("read")} />
        {files.denied_paths.length <= DENIED_SHOWN_MAX && <Fact name={sandbox.denied} values={files.denied_paths} />}
        <Fact name={sandbox.hosts} values={network.allowed_hosts} none={sandbox.hostsNone} />
        <Fact name={sandbox.hostsDenied} values={network.denied_hosts} />
        <div>
          <dt>{sandbox.limits}</dt>
          <dd>{sandbox.limitsText(limits.max_concurrent_tools, limits.max_tool_execution_ms / 1000)}</dd>
        </div>
      </dl>
      {files.denied_paths.length > DENIED_SHOWN_MAX && (
        <details className="step-details">
          <summary>{sandbox.deniedMore(files.denied_paths.length)}</summary>
          <ul>
            {files.denied_paths.map((path) => (
              <li key={path}>
                <code>{path}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Fact({ name, values, none }: { name: string; values: readonly string[]; none?: string }) {
  if (values.length === 0 && none === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{values.length === 0 ? none : values.map((value) => <code key={value}>{value} </code>)}</dd>
    </div>
  );
}
