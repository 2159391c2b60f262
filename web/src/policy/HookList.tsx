import type { HookRecord } from "../api/types";
import { labels } from "../labels";

/** The hooks of the operator that run for an agent. They are changed in their files. */
export function HookList({ hooks }: { hooks: readonly HookRecord[] }) {
  if (hooks.length === 0) return null;
  return (
    <>
      <h3>{labels.policy.hooks}</h3>
      <p className="quiet">{labels.policy.hooksHint}</p>
      <ul className="policy-list" aria-label={labels.policy.hooks}>
        {hooks.map((hook) => (
          <li key={`${hook.source}-${hook.event}-${hook.matcher}-${hook.hook}`}>
            {hook.event} {hook.matcher !== "" && labels.policy.hookTools(hook.matcher)} <code>{hook.hook}</code>{" "}
            <span className="quiet">{hook.source}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
