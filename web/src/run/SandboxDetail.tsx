import type { Step } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";
import { visibleText } from "../text/visible";
import { Badge } from "../ui/Badge";
import { Icon } from "../ui/Icon";
import type { Tone } from "./text";

/** The order in which the parts of a sandbox are shown. */
const LINES = ["path", "write", "network", "secret", "child_process"];

const TONES: Record<string, Tone> = { enforced: "good", partly_enforced: "warn", not_enforced: "bad" };

/** What the sandbox of a command enforced, which hosts the command reached, and what a person should look at. */
export function SandboxDetail({ step }: { step: Step }) {
  const { confinement = {}, connections = [], findings = [] } = step;
  const lines = LINES.filter((line) => confinement[line] !== undefined);
  return (
    <>
      {findings.length > 0 && (
        <>
          <h3>{labels.step.findings}</h3>
          <ul className="gates">
            {findings.map((finding) => (
              <li key={finding} className="warn">
                <Icon name="alert" /> {visibleText(finding)}
              </li>
            ))}
          </ul>
        </>
      )}
      {connections.length > 0 && (
        <>
          <h3>{labels.step.connections}</h3>
          <ul>
            {connections.map(({ host, port, verdict, reason, count, ...bytes }, place) => (
              <li key={`${place}-${host}`}>
                <code>{`${visibleText(host)}:${port}`}</code>{" "}
                <Badge tone={verdict === "allowed" ? "good" : "bad"}>{labels.step.connectionVerdicts[verdict]}</Badge>{" "}
                {visibleText(reason)}{" "}
                <small className="quiet">
                  {labels.step.connection(count, formatBytes(bytes.sent_bytes), formatBytes(bytes.received_bytes))}
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      {lines.length > 0 && (
        <>
          <h3>{labels.step.confinement}</h3>
          <dl className="facts">
            {lines.map((line) => (
              <div key={line}>
                <dt>{labels.step.confinementLines[line]}</dt>
                <dd>
                  <Badge tone={TONES[confinement[line] ?? ""] ?? "quiet"}>
                    {labels.step.confinementStates[confinement[line] ?? ""] ?? confinement[line]}
                  </Badge>
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </>
  );
}
