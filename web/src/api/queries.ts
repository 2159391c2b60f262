// The names under which answers are kept, and how to get them. Events say which names have become stale.
import { queryOptions } from "@tanstack/react-query";
import {
  getAgentState,
  getAgents,
  getBrakes,
  getBudget,
  getDecision,
  getDecisions,
  getEventsBefore,
  getLogins,
  getQuarantined,
  getRun,
  getRuntimeStatus,
  getSpending,
  getSubscriptions,
  getTranscript,
  getWhy,
  getWhyNot,
} from "./calls";
import { keys } from "./keys";

/** A conversation is read from its end; older lines come on request, as many again each time. */
export const TRANSCRIPT_LINES = 200;

/** The server's bound. */
export const TRANSCRIPT_LINES_MAX = 500;

/** Clocks differ a little, so a new day is asked for this much after it began. */
const DAY_TURN_MS = 5_000;

/** The next larger number of lines to ask for; none when there is no larger one. */
export function moreLines(lines: number): number | undefined {
  return lines < TRANSCRIPT_LINES_MAX ? Math.min(lines + TRANSCRIPT_LINES, TRANSCRIPT_LINES_MAX) : undefined;
}

export const runtimeQuery = queryOptions({ queryKey: keys.runtime(), queryFn: getRuntimeStatus });

export const agentsQuery = queryOptions({
  queryKey: keys.agents(),
  queryFn: async () => (await getAgents()).agents,
});

/** What waits for an answer, most urgent first. */
export const decisionsQuery = queryOptions({
  queryKey: keys.decisions(),
  queryFn: async () => (await getDecisions()).decisions,
});

/** One question with all of its arguments, which never change. */
export const fullDecisionQuery = (id: string) =>
  queryOptions({ queryKey: keys.fullDecision(id), queryFn: () => getDecision(id), staleTime: Infinity });

/** Runs that cannot go on until a person says so. */
export const quarantinedQuery = queryOptions({
  queryKey: keys.quarantinedRuns(),
  queryFn: async () => (await getQuarantined()).runs,
});

/** The browsers that are logged in. No event tells of them, so they are asked for whenever they are shown. */
export const loginsQuery = queryOptions({
  queryKey: keys.logins(),
  queryFn: async () => (await getLogins()).logins,
  staleTime: 0,
});

export const brakesQuery = queryOptions({ queryKey: keys.brakes(), queryFn: getBrakes });

/** Today's money. Events make it stale, and so does the turn of the day, which is no event. */
export const budgetQuery = queryOptions({
  queryKey: keys.budget(),
  queryFn: getBudget,
  refetchInterval: ({ state }) =>
    state.data !== undefined && Math.max(DAY_TURN_MS, Date.parse(state.data.next_day_at) - Date.now() + DAY_TURN_MS),
});

export const spendingQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentSpending(id), queryFn: async () => (await getSpending(id)).days });

export const subscriptionsQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentSubscriptions(id), queryFn: () => getSubscriptions(id) });

export const stateQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentState(id), queryFn: () => getAgentState(id) });

export const transcriptQuery = (id: string, lines: number) =>
  queryOptions({
    queryKey: keys.agentTranscript(id, lines),
    queryFn: () => getTranscript(id, lines),
    // Asking for more lines must not blank the ones that are on the screen.
    placeholderData: (before) => before,
  });

export const runQuery = (runKey: string) => queryOptions({ queryKey: keys.run(runKey), queryFn: () => getRun(runKey) });

export const whyQuery = (runKey: string) =>
  queryOptions({ queryKey: keys.runWhy(runKey), queryFn: () => getWhy(runKey) });

export const whyNotQuery = (id: string) =>
  queryOptions({ queryKey: keys.agentWhyNot(id), queryFn: () => getWhyNot(id) });

/** The newest events of an agent, and the number after which its stream goes on. */
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
