// Short names for the schemas of the API contract.
import type { ComingRun, ComingSummary } from "./coming";
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

/** A pattern to write. The contract also allows explicit nulls, which the page never sends. */
export type NewPattern = { cron: string; time_zone: string } | { interval_seconds: number } | { at: string };
export type AddSchedule = Omit<Schemas["AddSchedule"], "pattern"> & { pattern: NewPattern };
export type AddSource = Schemas["AddSource"];
export type Activity = Schemas["Activity"];
export type AgentState = Schemas["AgentState"];
export type AgentStatus = Schemas["AgentStatus"];
export type AgentSpending = Schemas["AgentSpending"];
export type Attempt = Schemas["Attempt"];
export type BlastRadius = Schemas["BlastRadius"];
export type Block = Schemas["Block"];
export type BrakeList = Schemas["BrakeList"];
export type Budget = Schemas["Budget"];
export type EventCategory = Schemas["EventCategory"];
export type CreateAgent = Schemas["CreateAgent"];
export type CreateSubscription = Schemas["CreateSubscription"];
export type DaySpending = Schemas["DaySpending"];
export type Decision = Schemas["Decision"];
export type InputGone = Schemas["InputGone"];
export type Delta = Schemas["Delta"];
export type EditSchedule = Omit<Schemas["EditSchedule"], "schedule_id" | "pattern"> & { pattern?: NewPattern };
export type Event = Schemas["Event"];
/** An event of a kind in the contract; other versions of the server may send more kinds. */
type KnownEvent<E = Event> = E extends { kind: infer K } ? (string extends K ? never : E) : never;
export type EventKind = KnownEvent["kind"];
export type EventPayload<K extends EventKind> = Extract<KnownEvent, { kind: K }>["payload"];
export type BudgetExceeded = Schemas["BudgetExceeded"];
export type ExecutionOutcome = Schemas["ExecutionOutcome"];
export type ExternalTrigger = Schemas["ExternalTrigger"];
export type FailureArtifact = Schemas["FailureArtifact"];
export type Gate = Schemas["Gate"];
export type EventLevel = Schemas["EventLevel"];
export type Login = Schemas["Login"];
export type NotDurable = Schemas["NotDurable"];
/** The amounts of a run that waits for budget. The page has its own words for the rest. */
export type ParkedReason = Omit<Schemas["ParkedReason"], "hint" | "message">;
export type Problem = Schemas["Problem"];
export type QueuedMessage = Schemas["QueuedMessage"];
export type Run = Schemas["Run"] & ComingRun;
export type RunCause = Schemas["RunCause"];
export type RunSummary = Schemas["RunSummary"] & ComingSummary;
export type RunLink = Schemas["RunLink"];
export type RunStatus = Schemas["RunStatus"];
export type RuntimeStatus = Schemas["RuntimeStatus"];
export type AnswerDecision = Schemas["AnswerDecision"];
export type Schedule = Schemas["Schedule"];
export type ScheduledExecution = Schemas["ScheduledExecution"];
export type SchedulePattern = Schemas["SchedulePattern"];
export type ScheduleStatus = Schemas["ScheduleStatus"];
export type SetBrake = Schemas["SetBrake"];
export type Severity = Schemas["Severity"];
export type Source = Schemas["Source"];
export type SourceKind = Schemas["SourceKind"];
export type Step = Schemas["Step"];
export type StepText = Schemas["StepText"];
export type StepStatus = Schemas["StepStatus"];
export type StuckAgent = Schemas["StuckAgent"];
export type Subscription = Schemas["Subscription"];
export type TokenUsage = Schemas["TokenUsage"];
export type Transcript = Schemas["Transcript"];
export type Usage = Schemas["Usage"];
export type TranscriptLine = Schemas["TranscriptLine"];
export type Hold = Schemas["Hold"];
export type WakeCause = Schemas["WakeCause"];
export type WhyNot = Schemas["WhyNot"];
export type WhyRun = Schemas["WhyRun"];
export type JournalCategory = Schemas["JournalCategory"];
export type {
  AgentSettings,
  LocalProvider,
  ModelChoice,
  ModelProvider,
  ProviderTest,
  SetAgentSettings,
  Setting,
  SettingList,
  StatusCounts,
  StoredKey,
  WaitingFor,
} from "./coming";
