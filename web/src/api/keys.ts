// Every key under which the page caches a response. A key is a prefix of the keys below it, so invalidating
// `keys.agent(id)` invalidates everything that is cached about that agent.
import type { QueryClient, QueryKey } from "@tanstack/react-query";

/** The newest lines of one conversation. */
export interface TranscriptPart {
  agentId: string;
  thread: string;
  lines: number;
}

export const keys = {
  agents: () => ["agents"] as const,
  anyAgent: () => ["agent"] as const,
  agent: (agentId: string) => [...keys.anyAgent(), agentId] as const,
  agentState: (agentId: string) => [...keys.agent(agentId), "state"] as const,
  agentRuns: (agentId: string) => [...keys.agent(agentId), "runs"] as const,
  agentTranscript: ({ agentId, thread, lines }: TranscriptPart) =>
    [...keys.agent(agentId), "transcript", thread, lines] as const,
  agentThreads: (agentId: string) => [...keys.agent(agentId), "threads"] as const,
  agentSpending: (agentId: string) => [...keys.agent(agentId), "spending"] as const,
  agentSubscriptions: (agentId: string) => [...keys.agent(agentId), "subscriptions"] as const,
  agentSettings: (agentId: string) => [...keys.agent(agentId), "settings"] as const,
  agentPolicy: (agentId: string) => [...keys.agent(agentId), "policy"] as const,
  agentWhyNot: (agentId: string) => [...keys.agent(agentId), "why-not"] as const,
  anyRun: () => ["run"] as const,
  run: (runKey: string) => [...keys.anyRun(), runKey] as const,
  runChanges: (runKey: string) => [...keys.run(runKey), "changes"] as const,
  runWhy: (runKey: string) => [...keys.run(runKey), "why"] as const,
  runStep: (runKey: string, operationId: string) => [...keys.run(runKey), "step", operationId] as const,
  stepPolicy: (runKey: string, operationId: string) => [...keys.runStep(runKey, operationId), "policy"] as const,
  attention: () => ["attention"] as const,
  anyRunList: () => ["runs"] as const,
  runList: (search: string) => [...keys.anyRunList(), "search", search] as const,
  runsSince: (since: string) => [...keys.anyRunList(), "since", since] as const,
  decisions: () => ["decisions"] as const,
  fullDecision: (decisionId: string) => ["full-decision", decisionId] as const,
  endedDecision: (decisionId: string) => ["ended-decision", decisionId] as const,
  brakes: () => ["brakes"] as const,
  budget: () => ["budget"] as const,
  limits: () => [...keys.budget(), "limits"] as const,
  schedules: () => ["schedules"] as const,
  executions: (scheduleId: string) => [...keys.schedules(), scheduleId, "executions"] as const,
  sources: () => ["sources"] as const,
  trigger: (agentId: string) => ["trigger", agentId] as const,
  categories: () => ["categories"] as const,
  models: () => ["models"] as const,
  tools: () => ["tools"] as const,
  providers: () => ["providers"] as const,
  localProviders: () => ["local-providers"] as const,
  secrets: () => ["secrets"] as const,
  folders: () => ["folders"] as const,
  untrustedFiles: (folder: string) => [...keys.folders(), folder] as const,
  anyAudit: () => ["audit"] as const,
  audit: (search: string) => [...keys.anyAudit(), search] as const,
  settings: () => ["settings"] as const,
  logins: () => ["logins"] as const,
  runtime: () => ["runtime"] as const,
  anyLog: () => ["log"] as const,
  feed: () => [...keys.anyLog(), "feed"] as const,
  agentEvents: (agentId: string) => [...keys.anyLog(), "agent", agentId] as const,
};

/** What an event of any agent can change, on every page. */
export const ATTENTION_KEYS: readonly QueryKey[] = [
  keys.decisions(),
  keys.attention(),
  keys.anyRunList(),
  keys.anyAudit(),
  keys.brakes(),
];

/** What shows the state of agents and runs; an answer, a brake or a cap can change any of it. */
export const ACTIVITY_KEYS: readonly QueryKey[] = [
  keys.agents(),
  keys.anyAgent(),
  keys.runtime(),
  keys.anyRun(),
  keys.anyRunList(),
];

/** Whether a key belongs to a log of events. Streams continue logs without gaps, so a log is never fetched again. */
export function isLogKey(queryKey: QueryKey): boolean {
  return queryKey[0] === keys.anyLog()[0];
}

/** Marks everything below the given keys as stale, and fetches again what is on the screen. */
export async function invalidate(client: QueryClient, stale: readonly QueryKey[]): Promise<void> {
  await Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey })));
}
