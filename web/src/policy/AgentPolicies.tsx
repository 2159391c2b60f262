import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { agentPolicyQuery } from "../api/queries";
import type { AgentPolicy, PolicyRecord } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { Skeleton } from "../ui/Skeleton";
import { HookList } from "./HookList";
import { SandboxFacts } from "./SandboxFacts";

/** The source of a policy that the program generates. */
const FROM_SETTINGS = "settings";

/** Whether the address leads to this section, as the explanation of a verdict does. */
const isTarget = () => location.hash === "#policies";

/** The policies in force for an agent: those that people wrote, and those that follow from its settings. */
export function AgentPolicies({ agentId }: { agentId: string }) {
  const policy = useQuery(agentPolicyQuery(agentId));
  const section = useRef<HTMLElement>(null);
  const isLoaded = policy.data !== undefined;
  // The section is not there yet when the browser looks for the target of the address.
  useEffect(() => {
    if (isLoaded && isTarget()) section.current?.scrollIntoView();
  }, [isLoaded]);
  return (
    <section className="panel" aria-labelledby="policies-title" id="policies" ref={section}>
      <h2 id="policies-title">{labels.policy.list}</h2>
      {policy.error && !policy.data && (
        <ErrorNotice action={labels.policy.action} error={policy.error} onRetry={() => void policy.refetch()} />
      )}
      {policy.isPending && <Skeleton lines={4} label={labels.policy.loading} />}
      {policy.data && <PolicyList policy={policy.data} />}
    </section>
  );
}

function PolicyList({ policy }: { policy: AgentPolicy }) {
  const generated = policy.policies.filter((one) => one.source === FROM_SETTINGS);
  return (
    <>
      <p className="quiet">{labels.policy.listHint(policy.policies.length)}</p>
      {policy.problems?.map((problem) => (
        <p key={`${problem.file}-${problem.line}`} className="notice" role="note">
          <Icon name="alert" /> {problemTitle(problem)} {toSentence(problem.message)}
        </p>
      ))}
      <Entries policies={policy.policies.filter((one) => one.source !== FROM_SETTINGS)} />
      {generated.length > 0 && (
        <details className="step-details" open={isTarget() || undefined}>
          <summary>{labels.policy.generated(generated.length)}</summary>
          <Entries policies={generated} />
        </details>
      )}
      <HookList hooks={policy.hooks ?? []} />
      <SandboxFacts policy={policy.sandbox} />
      <p className="quiet">
        {labels.policy.files}{" "}
        {policy.folders.map((folder) => (
          <code key={folder}>{folder} </code>
        ))}
      </p>
    </>
  );
}

/** A hook file has no earlier version that could stay in force. */
const problemTitle = ({ file, line }: { file: string; line: number }) =>
  file.endsWith("hooks.json") ? labels.policy.problemHooks(file) : labels.policy.problem(file, line);

function Entries({ policies }: { policies: readonly PolicyRecord[] }) {
  if (policies.length === 0) return null;
  return (
    <ul className="policy-list">
      {policies.map((one) => (
        <PolicyEntry key={`${one.source}-${one.rule}-${one.line ?? 0}`} policy={one} />
      ))}
    </ul>
  );
}

const TONES = { permit: "good", ask: "warn", forbid: "bad" } as const;

/** One policy: what it does in a sentence, where it comes from, and its Cedar text. */
function PolicyEntry({ policy }: { policy: PolicyRecord }) {
  const source = policy.source === FROM_SETTINGS ? labels.policy.settings : policy.source;
  const meaning = labels.step.rules[policy.rule];
  return (
    <li>
      <details className="step-details">
        <summary>
          <code>{policy.rule}</code>{" "}
          <Badge tone={TONES[policy.kind as keyof typeof TONES] ?? "quiet"}>
            {labels.policy.kinds[policy.kind] ?? policy.kind}
          </Badge>
        </summary>
        {meaning && <p>{toSentence(meaning)}</p>}
        <p className="quiet">{labels.policy.place(source, policy.line)}</p>
        <pre className="code" tabIndex={0} aria-label={policy.rule}>
          <code>{policy.text.trim()}</code>
        </pre>
      </details>
    </li>
  );
}
