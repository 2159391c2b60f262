// Short names for what the contract calls its schemas. The contract is written by the server; nothing is added here.
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type Activity = Schemas["Activity"];
export type AgentState = Schemas["AgentState"];
export type AgentStatus = Schemas["AgentStatus"];
export type AgentSpending = Schemas["AgentSpending"];
export type Attempt = Schemas["Attempt"];
export type Block = Schemas["Block"];
export type Budget = Schemas["Budget"];
export type Category = Schemas["Category"];
export type CreateAgent = Schemas["CreateAgent"];
export type DaySpending = Schemas["DaySpending"];
export type Delta = Schemas["Delta"];
export type Event = Schemas["Event"];
export type FailureArtifact = Schemas["FailureArtifact"];
export type Gate = Schemas["Gate"];
export type Level = Schemas["Level"];
export type Parked = Schemas["Parked"];
export type Problem = Schemas["Problem"];
export type Queued = Schemas["Queued"];
export type Run = Schemas["Run"];
export type RunCause = Schemas["RunCause"];
export type RunLine = Schemas["RunLine"];
export type RuntimeStatus = Schemas["RuntimeStatus"];
export type SetCap = Schemas["SetCap"];
export type Step = Schemas["Step"];
export type StepStatus = Schemas["StepStatus"];
export type Stuck = Schemas["Stuck"];
export type TokenUsage = Schemas["TokenUsage"];
export type Transcript = Schemas["Transcript"];
export type TranscriptLine = Schemas["TranscriptLine"];
