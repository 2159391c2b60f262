// The queries of the page: which request fills which key.
import { queryOptions } from "@tanstack/react-query";
import {
  findLocalProviders,
  getAgentPolicy,
  getAgentSettings,
  getAgentState,
  getAgents,
  getAttention,
  getBrakes,
  getBudget,
  getCategories,
  getDecision,
  getDecisions,
  getEventsBefore,
  getExecutions,
  getFolders,
  getLimits,
  getLogins,
  getModels,
  getProviders,
  getRun,
  getRunChanges,
  getRunsSince,
  getRuntimeStatus,
  getSchedules,
  getSecrets,
  getSettings,
  getSources,
  getSpending,
  getStep,
  getStepPolicy,
  getSubscriptions,
  getThreads,
  getTools,
  getTranscript,
  getTrigger,
  getUntrustedFiles,
  getWhy,
  getWhyNot,
} from "./calls";
import { keys, type TranscriptPart } from "./keys";

/** A conversation is read from its end; each request for older lines asks for this many more. */
export const TRANSCRIPT_LINES = 200;

/** The server's limit. */
export const TRANSCRIPT_LINES_MAX = 500;

/** The clocks of browser and server differ a little, so a new day is fetched this long after it starts. */
const DAY_TURN_MS = 5_000;

/** The next larger number of lines to request; none at the limit. */
export function moreLines(lines: number): number | undefined {
  return lines < TRANSCRIPT_LINES_MAX ? Math.min(lines + TRANSCRIPT_LINES, TRANSCRIPT_LINES_MAX) : undefined;
}

export const runtimeQuery = queryOptions({ queryKey: keys.runtime(), queryFn: getRuntimeStatus });

export const agentsQuery = queryOptions({
  queryKey: keys.agents(),
  queryFn: async () => (await getAgents()).agents,
});

/** Pending decisions, most urgent first. */
export const decisionsQuery = queryOptions({
  queryKey: keys.decisions(),
  queryFn: async () => (await getDecisions()).decisions,
});

/** One decision with its whole input, which never changes. */
export const fullDecisionQuery = (id: string) =>
  queryOptions({ queryKey: keys.fullDecision(id), queryFn: () => getDecision(id), staleTime: Infinity });

/** A decision that has ended, with its answer. */
export const endedDecisionQuery = (id: string) =>
  queryOptions({ queryKey: keys.endedDecision(id), queryFn: () => getDecision(id), staleTime: Infinity });

/** What needs a person, over all agents. */
export const attentionQuery = queryOptions({ queryKey: keys.attention(), queryFn: getAttention });

/** The newest runs since a time. */
export const runsSinceQuery = (since: string) =>
  queryOptions({ queryKey: keys.runsSince(since), queryFn: async () => (await getRunsSince(since)).runs });

/** The logged-in browsers. No event reports a change of them, so they are fetched each time they are shown. */
export const loginsQuery = queryOptions({
  queryKey: keys.logins(),
  queryFn: async () => (await getLogins()).logins,
  staleTime: 0,
});

export const brakesQuery = queryOptions({ queryKey: keys.brakes(), queryFn: getBrakes });

/** Today's spending. Events make it stale, and so does a new day, which has no event. */
export const budgetQuery = queryOptions({
  queryKey: keys.budget(),
  queryFn: getBudget,
  refetchInterval: ({ state }) =>
    state.data !== undefined && Math.max(DAY_TURN_MS, Date.parse(state.data.next_day_at) - Date.now() + DAY_TURN_MS),
});

/** All limits with their use. */
export const limitsQuery = queryOptions({ queryKey: keys.limits(), queryFn: getLimits });

export const spendingQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentSpending(id), queryFn: async () => (await getSpending(id)).days });

export const subscriptionsQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentSubscriptions(id), queryFn: () => getSubscriptions(id) });

/** All schedules. Its key is a prefix of the keys of their histories, which are fetched again with it. */
export const schedulesQuery = queryOptions({ queryKey: keys.schedules(), queryFn: getSchedules });

export const executionsQuery = (id: string) =>
  queryOptions({ queryKey: keys.executions(id), queryFn: async () => (await getExecutions(id)).executions });

/** The watched folders and repositories. No event reports a change of them. */
export const sourcesQuery = queryOptions({
  queryKey: keys.sources(),
  queryFn: async () => (await getSources()).sources,
  staleTime: 0,
});

/** The trigger of an agent. The request creates it, so it is sent only when a person asks for the URL. */
export const triggerQuery = (id: string) =>
  queryOptions({ queryKey: keys.trigger(id), queryFn: () => getTrigger(id), enabled: false });

export const agentSettingsQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentSettings(id), queryFn: () => getAgentSettings(id) });

export const categoriesQuery = queryOptions({
  queryKey: keys.categories(),
  queryFn: async () => (await getCategories()).categories,
});

/** The names of all tools. */
export const toolsQuery = queryOptions({ queryKey: keys.tools(), queryFn: async () => (await getTools()).tools });

/** The models that a person can choose. */
export const modelsQuery = queryOptions({ queryKey: keys.models(), queryFn: getModels });

/** Providers and settings can change outside the page without an event, so they are fetched each time they are shown. */
export const providersQuery = queryOptions({ queryKey: keys.providers(), queryFn: getProviders, staleTime: 0 });

/** The model servers on this machine. The request tries several ports, so it is sent only when a person asks. */
export const localProvidersQuery = queryOptions({
  queryKey: keys.localProviders(),
  queryFn: findLocalProviders,
  enabled: false,
});

/** Commands write to folders without an event. */
export const foldersQuery = queryOptions({ queryKey: keys.folders(), queryFn: getFolders, staleTime: 0 });

export const untrustedFilesQuery = (folder: string) =>
  queryOptions({ queryKey: keys.untrustedFiles(folder), queryFn: () => getUntrustedFiles(folder), staleTime: 0 });

/** Secrets can change outside the page without an event, and so can the places of their values. */
export const secretsQuery = queryOptions({ queryKey: keys.secrets(), queryFn: getSecrets, staleTime: 0 });

export const settingsQuery = queryOptions({ queryKey: keys.settings(), queryFn: getSettings, staleTime: 0 });

export const stateQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentState(id), queryFn: () => getAgentState(id) });

/** The conversations of an agent, the most recent first. */
export const threadsQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentThreads(id), queryFn: async () => (await getThreads(id)).threads });

export const transcriptQuery = (part: TranscriptPart) =>
  queryOptions({
    queryKey: keys.agentTranscript(part),
    queryFn: () => getTranscript(part.agentId, { thread: part.thread, limit: part.lines }),
    // The lines on the screen stay while more lines are loading.
    placeholderData: (before) => before,
  });

export const runQuery = (runKey: string) => queryOptions({ queryKey: keys.run(runKey), queryFn: () => getRun(runKey) });

export const runChangesQuery = (runKey: string) =>
  queryOptions({ queryKey: keys.runChanges(runKey), queryFn: () => getRunChanges(runKey) });

/** One step with its whole texts, which do not change once it has ended. */
export const stepQuery = (runKey: string, operationId: string) =>
  queryOptions({ queryKey: keys.runStep(runKey, operationId), queryFn: () => getStep(runKey, operationId) });

/** Policies are files that people edit, and no event reports a change of them. */
export const stepPolicyQuery = (runKey: string, operationId: string) =>
  queryOptions({
    queryKey: keys.stepPolicy(runKey, operationId),
    queryFn: () => getStepPolicy(runKey, operationId),
    staleTime: 0,
  });

export const agentPolicyQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentPolicy(id), queryFn: () => getAgentPolicy(id), staleTime: 0 });

export const whyQuery = (runKey: string) =>
  queryOptions({ queryKey: keys.runWhy(runKey), queryFn: () => getWhy(runKey) });

export const whyNotQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentWhyNot(id), queryFn: () => getWhyNot(id) });

/** The newest events of an agent, and the sequence number after which its stream continues. */
export const eventsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.agentEvents(id),
    queryFn: async () => {
      const { after_seq: afterSeq } = await getAgentState(id);
      const events = afterSeq === 0 ? [] : (await getEventsBefore(id, afterSeq + 1)).events;
      return { events: events as readonly (typeof events)[number][], afterSeq };
    },
    staleTime: Infinity,
  });
