import { useQuery } from "@tanstack/react-query";
import { agentSettingsQuery } from "../api/queries";
import { labels } from "../labels";

/** The names of the secrets that an agent's commands may receive; nothing without any. */
export function SecretsFact({ agentId }: { agentId: string }) {
  const names = useQuery(agentSettingsQuery(agentId)).data?.sandbox.allowed_secrets ?? [];
  if (names.length === 0) return null;
  return (
    <div>
      <dt>{labels.agent.secrets}</dt>
      <dd>
        <code>{names.join(" ")}</code>
      </dd>
    </div>
  );
}
