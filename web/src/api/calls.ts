// Every call that the page makes, by name. Components never spell a path.
import createClient from "openapi-fetch";
import { failureOf, unreachable } from "./failure";
import type { paths } from "./schema.gen";
import { setLoggedOut } from "./session";
import { removeToken, tokenHeaders } from "./token";
import type {
  AddProvider,
  AddSchedule,
  AddSource,
  AnswerDecision,
  AttachmentInput,
  CreateAgent,
  CreateSubscription,
  EditSchedule,
  Priority,
  RetryRun,
  SetAgentSettings,
  SetBrake,
  SetLimit,
  UndoDirection,
} from "./types";

/** Fills several screens; the reader asks for more. */
export const EVENTS_PER_PAGE = 200;
const RUNS_PER_PAGE = 50;
/** The server's limit. */
const RECENT_RUNS_MAX = 500;
const SUBSCRIPTIONS_PER_PAGE = 100;
/** The limit of the server. More schedules than this are listed on the command line. */
const SCHEDULES_MAX = 500;
const EXECUTIONS_PER_PAGE = 20;

// Some paths also respond as streams; `live/stream.ts` reads those, and here every response is JSON. `fetch` is looked up
// per call and not when the module loads, so that a test can replace it.
const client = createClient<paths, "application/json">({
  fetch: (request) => globalThis.fetch(withToken(request), { signal: timeoutOf(request) }),
});

/** A daemon that hangs keeps connections open. A request that only reads ends after this time and is sent again. */
const READ_MS_MAX = 20_000;

function timeoutOf({ method }: Request): AbortSignal | undefined {
  return method === "GET" ? AbortSignal.timeout(READ_MS_MAX) : undefined;
}

function withToken(request: Request): Request {
  for (const [name, value] of Object.entries(tokenHeaders())) request.headers.set(name, value);
  return request;
}

interface ClientResponse<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

async function responseBody<T>(call: Promise<ClientResponse<T>>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    throw unreachable();
  });
  if (response.ok) {
    setLoggedOut(false);
    return data as T;
  }
  if (response.status === 401) setLoggedOut(true);
  throw failureOf(response.status, error);
}

const agent = (id: string) => ({ path: { agent_id: id } });
const decision = (id: string) => ({ path: { decision_id: id } });
const subscription = (id: string) => ({ path: { subscription_id: id } });
const schedule = (id: string) => ({ path: { schedule_id: id } });
const source = (id: string) => ({ path: { source_id: id } });
const run = (runKey: string) => ({ path: { run_key: runKey } });

export const getRuntimeStatus = () => responseBody(client.GET("/api/runtime/status"));
export const getAgents = () => responseBody(client.GET("/api/agents"));
export const createAgent = (body: CreateAgent) => responseBody(client.POST("/api/agents", { body }));
export const getAgentState = (id: string) =>
  responseBody(client.GET("/api/agents/{agent_id}/state", { params: agent(id) }));
export const pauseAgent = (id: string) =>
  responseBody(client.POST("/api/agents/{agent_id}/pause", { params: agent(id) }));
export const clearQueue = (id: string) =>
  responseBody(client.POST("/api/agents/{agent_id}/queue/clear", { params: agent(id) }));
export const resumeAgent = (id: string) =>
  responseBody(client.POST("/api/agents/{agent_id}/resume", { params: agent(id) }));
export const getRun = (runKey: string) => responseBody(client.GET("/api/runs/{run_key}", { params: run(runKey) }));
export const getWhy = (runKey: string) => responseBody(client.GET("/api/runs/{run_key}/why", { params: run(runKey) }));
export const getWhyNot = (id: string) =>
  responseBody(client.GET("/api/agents/{agent_id}/why-not", { params: agent(id) }));
export const cancelRun = (runKey: string) =>
  responseBody(client.POST("/api/runs/{run_key}/cancel", { params: run(runKey) }));
export const resumeRun = (runKey: string) =>
  responseBody(client.POST("/api/runs/{run_key}/resume", { params: run(runKey) }));
export const abandonRun = (runKey: string) =>
  responseBody(client.POST("/api/runs/{run_key}/abandon", { params: run(runKey) }));
export const retryRun = (runKey: string, changes: RetryRun = {}) =>
  responseBody(client.POST("/api/runs/{run_key}/retry", { params: run(runKey), body: changes }));
export const getRunChanges = (runKey: string) =>
  responseBody(client.GET("/api/runs/{run_key}/changes", { params: run(runKey) }));
/** Restores the files of a run, or only reports what would be done. */
export const undoRun = (runKey: string, body: { dry_run?: boolean; direction?: UndoDirection } = {}) =>
  responseBody(client.POST("/api/runs/{run_key}/undo", { params: run(runKey), body }));
export const getAttention = () => responseBody(client.GET("/api/attention"));
export const dismissRuns = (runKeys: string[]) =>
  responseBody(client.POST("/api/attention/dismiss", { body: { run_keys: runKeys } }));
/** The newest runs of all agents that started at a time or later. */
export const getRunsSince = (since: string) =>
  responseBody(client.GET("/api/runs", { params: { query: { since, limit: RECENT_RUNS_MAX } } }));
export const getDecisions = () => responseBody(client.GET("/api/decisions"));
export const getDecision = (id: string) =>
  responseBody(client.GET("/api/decisions/{decision_id}", { params: decision(id) }));
export const answerDecision = (id: string, body: AnswerDecision) =>
  responseBody(client.POST("/api/decisions/{decision_id}/answer", { params: decision(id), body }));
export const getSubscriptions = (id: string) =>
  responseBody(
    client.GET("/api/subscriptions", { params: { query: { agent_id: id, limit: SUBSCRIPTIONS_PER_PAGE } } }),
  );
export const pauseSubscription = (id: string) =>
  responseBody(client.POST("/api/subscriptions/{subscription_id}/pause", { params: subscription(id) }));
export const resumeSubscription = (id: string) =>
  responseBody(client.POST("/api/subscriptions/{subscription_id}/resume", { params: subscription(id) }));
export const unsubscribe = (id: string) =>
  responseBody(client.DELETE("/api/subscriptions/{subscription_id}", { params: subscription(id) }));
export const createSubscription = (body: CreateSubscription) =>
  responseBody(client.POST("/api/subscriptions", { body }));
export const getSchedules = () =>
  responseBody(client.GET("/api/schedules", { params: { query: { limit: SCHEDULES_MAX } } }));
export const addSchedule = (body: AddSchedule) => responseBody(client.POST("/api/schedules", { body }));
export const editSchedule = (id: string, body: EditSchedule) =>
  responseBody(client.POST("/api/schedules/{schedule_id}", { params: schedule(id), body }));
export const pauseSchedule = (id: string) =>
  responseBody(client.POST("/api/schedules/{schedule_id}/pause", { params: schedule(id) }));
export const resumeSchedule = (id: string) =>
  responseBody(client.POST("/api/schedules/{schedule_id}/resume", { params: schedule(id) }));
export const disableSchedule = (id: string) =>
  responseBody(client.POST("/api/schedules/{schedule_id}/disable", { params: schedule(id) }));
/** Fires a schedule now. The key makes a repeated request fire it once. */
export const triggerSchedule = (id: string, key: string) =>
  responseBody(client.POST("/api/schedules/{schedule_id}/trigger", { params: schedule(id), body: { key } }));
export const getExecutions = (id: string) =>
  responseBody(
    client.GET("/api/schedules/{schedule_id}/executions", {
      params: { ...schedule(id), query: { limit: EXECUTIONS_PER_PAGE } },
    }),
  );
/** The external trigger of an agent; it is created if there is none. */
export const getTrigger = (id: string) =>
  responseBody(client.POST("/api/agents/{agent_id}/external-trigger", { params: agent(id) }));
export const rotateTrigger = (id: string) =>
  responseBody(client.POST("/api/agents/{agent_id}/external-trigger/rotate", { params: agent(id) }));
export const revokeTrigger = (id: string) =>
  responseBody(client.POST("/api/agents/{agent_id}/external-trigger/revoke", { params: agent(id) }));
export const getSources = () => responseBody(client.GET("/api/sources"));
export const addSource = (body: AddSource) => responseBody(client.POST("/api/sources", { body }));
export const removeSource = (id: string) =>
  responseBody(client.DELETE("/api/sources/{source_id}", { params: source(id) }));
export const scanSource = (id: string) =>
  responseBody(client.POST("/api/sources/{source_id}/scan", { params: source(id) }));
export const getCategories = () => responseBody(client.GET("/api/journal/categories"));
export const getBrakes = () => responseBody(client.GET("/api/brake"));
export const setBrake = (body: SetBrake) => responseBody(client.POST("/api/brake", { body }));
export const releaseBrake = (agentId?: string) =>
  responseBody(client.POST("/api/brake/release", { body: { agent_id: agentId } }));
export const getBudget = () => responseBody(client.GET("/api/budget"));
/** Sets the daily cap of one agent, or of all together; without an amount the default applies again. */
export const setCap = (agentId: string | undefined, dailyUsd: string | undefined) =>
  responseBody(
    client.POST("/api/budget", {
      body: { agent_id: agentId, ...(dailyUsd === undefined ? { unset: true as const } : { daily_usd: dailyUsd }) },
    }),
  );
export const getLimits = () => responseBody(client.GET("/api/budget/limits"));
export const setLimit = (body: SetLimit) => responseBody(client.POST("/api/budget/limits", { body }));
export const changeLimit = (id: string, max: number) =>
  responseBody(client.POST("/api/budget/limits/{limit_id}", { params: { path: { limit_id: id } }, body: { max } }));
export const clearLimit = (id: string) =>
  responseBody(client.DELETE("/api/budget/limits/{limit_id}", { params: { path: { limit_id: id } } }));
export const getSpending = (id: string) =>
  responseBody(client.GET("/api/agents/{agent_id}/spending", { params: agent(id) }));
export const createLogin = (code: string) => responseBody(client.POST("/login", { body: { code } }));
export const getLogins = () => responseBody(client.GET("/api/logins"));
export const revokeLogin = (id: string) =>
  responseBody(client.DELETE("/api/logins/{login_id}", { params: { path: { login_id: id } } }));
export const createStreamTicket = () => responseBody(client.POST("/api/stream-tickets"));

/** Ends this browser's login. Without the token the browser is logged out even when the daemon does not respond. */
export async function logout(): Promise<void> {
  await responseBody(client.POST("/api/logout")).finally(removeToken);
}

/** Sets the model of an agent; without one the default applies again. */
export const setModel = (id: string, model: string | undefined) =>
  responseBody(client.POST("/api/agents/{agent_id}/settings", { params: agent(id), body: { model: model ?? null } }));

interface MessageBody {
  text: string;
  /** The idempotency key, which every retry repeats. */
  key: string;
  priority?: Priority;
  /** The conversation. */
  thread: string;
  attachments?: readonly AttachmentInput[];
}

export const sendMessage = (id: string, { attachments, ...body }: MessageBody) =>
  responseBody(
    client.POST("/api/agents/{agent_id}/messages", {
      params: agent(id),
      body: { ...body, attachments: attachments && [...attachments] },
    }),
  );

export const getTranscript = (id: string, query: { thread: string; limit: number }) =>
  responseBody(client.GET("/api/agents/{agent_id}/transcript", { params: { ...agent(id), query } }));

export const getThreads = (id: string) =>
  responseBody(client.GET("/api/agents/{agent_id}/threads", { params: agent(id) }));

export const getRuns = (id: string, before?: string) =>
  responseBody(
    client.GET("/api/agents/{agent_id}/runs", { params: { ...agent(id), query: { limit: RUNS_PER_PAGE, before } } }),
  );

/** The events before a sequence number, oldest first. */
export const getEventsBefore = (id: string, beforeSeq: number) =>
  responseBody(
    client.GET("/api/agents/{agent_id}/events", {
      params: { ...agent(id), query: { before_seq: beforeSeq, limit: EVENTS_PER_PAGE } },
    }),
  );

/** Events of all agents: after a cursor, or the newest ones. */
export const getFeed = (cursor?: string) =>
  responseBody(client.GET("/api/events", { params: { query: { cursor, limit: EVENTS_PER_PAGE } } }));

const provider = (name: string) => ({ path: { provider: name } });
export const getAgentSettings = (id: string) =>
  responseBody(client.GET("/api/agents/{agent_id}/settings", { params: agent(id) }));
export const setAgentSettings = (id: string, body: SetAgentSettings) =>
  responseBody(client.POST("/api/agents/{agent_id}/settings", { params: agent(id), body }));
export const getTools = () => responseBody(client.GET("/api/tools"));
export const getModels = () => responseBody(client.GET("/api/models"));
export const getProviders = () => responseBody(client.GET("/api/providers"));
export const findLocalProviders = () => responseBody(client.GET("/api/providers/local"));
export const addProvider = (body: AddProvider) => responseBody(client.POST("/api/providers", { body }));
export const setProviderKey = (name: string, body: { key: string; skip_test: boolean }) =>
  responseBody(client.POST("/api/providers/{provider}/key", { params: provider(name), body }));
export const removeProviderKey = (name: string) =>
  responseBody(client.DELETE("/api/providers/{provider}/key", { params: provider(name) }));
export const testProvider = (name: string) =>
  responseBody(client.POST("/api/providers/{provider}/test", { params: provider(name), body: {} }));
export const getFolders = () => responseBody(client.GET("/api/folders"));
export const trustFolder = (folder: string, is_trusted: boolean) =>
  responseBody(client.POST("/api/folders", { body: { folder, is_trusted } }));
export const getUntrustedFiles = (folder: string) =>
  responseBody(client.GET("/api/folders/files", { params: { query: { folder } } }));
export const reviewFolder = (folder: string, listed_at: string) =>
  responseBody(client.POST("/api/folders/review", { body: { folder, listed_at } }));
const secret = (name: string) => ({ path: { name } });
export const getSecrets = () => responseBody(client.GET("/api/secrets"));
export const setSecret = (name: string, value: string) =>
  responseBody(client.POST("/api/secrets/{name}", { params: secret(name), body: { value } }));
export const removeSecret = (name: string) =>
  responseBody(client.DELETE("/api/secrets/{name}", { params: secret(name) }));
export const getSettings = () => responseBody(client.GET("/api/settings"));
/** Sets a setting; without a value the default applies again. */
export const setSetting = (name: string, value: unknown) =>
  responseBody(client.POST("/api/settings", { body: { name, value } }));
export type AuditFilter = NonNullable<paths["/api/audit"]["get"]["parameters"]["query"]>;
export const listAudit = (filter: AuditFilter, cursor?: string) =>
  responseBody(client.GET("/api/audit", { params: { query: { ...filter, cursor, limit: RUNS_PER_PAGE } } }));
export type RunFilter = NonNullable<paths["/api/runs"]["get"]["parameters"]["query"]>;
export const listRuns = (filter: RunFilter, before?: string) =>
  responseBody(client.GET("/api/runs", { params: { query: { ...filter, before, limit: RUNS_PER_PAGE } } }));
/** One step with its whole texts. */
export const getStep = (runKey: string, operationId: string) =>
  responseBody(
    client.GET("/api/runs/{run_key}/steps/{operation_id}", {
      params: { path: { run_key: runKey, operation_id: operationId } },
    }),
  );
/** Why a recorded call was permitted, asked about or denied, judged again by the policies in force now. */
export const getStepPolicy = (runKey: string, operationId: string) =>
  responseBody(
    client.GET("/api/runs/{run_key}/steps/{operation_id}/policy", {
      params: { path: { run_key: runKey, operation_id: operationId } },
    }),
  );
export const getAgentPolicy = (id: string) =>
  responseBody(client.GET("/api/agents/{agent_id}/policy", { params: agent(id) }));
