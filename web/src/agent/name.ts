// The name of an agent as people read it.
import { labels } from "../labels";

/** The name that the command line gives the agent of a single run: a random or derived id. */
const ONE_TIME = /^temp-(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The name of an agent; what it is, where it has none. */
export function agentName(agentId: string): string {
  return ONE_TIME.test(agentId) ? labels.agent.oneTime : agentId;
}
