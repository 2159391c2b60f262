// Which agents may use a secret. The list is part of the settings of each agent, not of the secret.
import { getAgentSettings, setAgentSettings } from "../api/calls";

/** Adds a secret to the list of one agent or removes it. The settings are read first: a sandbox is replaced as a whole. */
async function setAccess(agentId: string, name: string, isAllowed: boolean): Promise<void> {
  const { sandbox } = await getAgentSettings(agentId);
  const others = (sandbox.allowed_secrets ?? []).filter((one) => one !== name);
  const names = isAllowed ? [...others, name].toSorted() : others;
  await setAgentSettings(agentId, { sandbox: { ...sandbox, allowed_secrets: names } });
}

/** Changes which agents may use a secret, from those that may use it to those that a person chose. */
export async function setAgentsOf(name: string, from: readonly string[], to: readonly string[]): Promise<void> {
  for (const agentId of to.filter((one) => !from.includes(one))) await setAccess(agentId, name, true);
  for (const agentId of from.filter((one) => !to.includes(one))) await setAccess(agentId, name, false);
}
