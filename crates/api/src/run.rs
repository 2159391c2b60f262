//! Runs and their steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::message::{AdmissionContext, Authority, DeliverySurface, MessageKind};
use wakeful_core::run::{RunState, RunStatus};
use wakeful_core::wake::{Gate, WakeOutcome};

use crate::{AttemptTimeline, ParkedReason, TokenUsage};
use wakeful_core::cause::Priority;
use wakeful_core::failure::FailureArtifact;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::step::StepStatus;
use wakeful_core::sub_run::RunLink;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, Limit, Text};
use crate::{PendingCancel, WhyRun};

endpoints! { "runs":
    /// Runs of all agents, newest first.
    ListRuns = Get "/api/runs" -> RunList { 200 "The runs", 404 "There is no such agent" }
    /// Runs of one agent, newest first.
    ListAgentRuns {
        agent_id: Text<AgentId>,
        /// Only those in this state.
        #[serde(default)]
        state: RunState,
        /// Most rows.
        #[serde(default)]
        limit: Limit,
        /// Only those that are older than this one.
        before: Option<Text<RunKey>>
    } = Get "/api/agents/{agent_id}/runs" -> RunList { 200 "The runs" }
    /// One run with everything that happened in it. A message whose turn has not come is a run that is `queued`.
    GetRun { run_key: Text<RunKey> } = Get "/api/runs/{run_key}" -> Run { 200 "The run" }
    /// Why there is a run, or why there is none: also for keys of causes that never became one.
    GetWhyRun { run_key: Text<RunKey> } = Get "/api/runs/{run_key}/why" -> WhyRun { 200 "What led to it" }
    /// Cancels a run, or takes its message out of the queue. One that has ended stays as it is.
    CancelRun { run_key: Text<RunKey> } = Post "/api/runs/{run_key}/cancel" -> CancelledRun {
        200 (Run) "The run as it stands; an open one ends at its next safe point",
        202 (PendingCancel) "It is in force here, and the database does not have it yet",
    }
    /// Resumes a quarantined run.
    ResumeRun { run_key: Text<RunKey> } = Post "/api/runs/{run_key}/resume" -> Run {
        200 "It is open again",
        409 "It is not quarantined (`run_not_quarantined`)",
    }
    /// Abandons a quarantined run. What it finished stays; what it was writing to the journal is taken back.
    AbandonRun { run_key: Text<RunKey> } = Post "/api/runs/{run_key}/abandon" -> Run {
        200 "It has ended",
        409 "It is not quarantined (`run_not_quarantined`)",
    }
}

/// Which runs to list, of all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    /// Only this agent's.
    pub agent_id: Option<Text<AgentId>>,
    /// Only those in this state.
    #[serde(default)]
    pub state: RunState,
    /// Most rows.
    #[serde(default)]
    pub limit: Limit,
    /// Only those that are older than this one.
    pub before: Option<Text<RunKey>>,
    /// Only those whose key begins with these digits: at most two, which is enough to know it is ambiguous. With it the
    /// other parameters count for nothing.
    pub prefix: Option<Hex<1, 64>>,
}

/// What a cancellation came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CancelledRun {
    /// It is durable.
    Run(Box<Run>),
    /// It is in force, and not in the database yet.
    Pending(PendingCancel),
}

/// A run with everything that happened in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// `open`, `queued`, `quarantined`, or how it ended: `completed`, `failed`, `out_of_rounds`, `cancelled`, `abandoned`.
    pub outcome: RunStatus,
    /// The model's last words.
    pub final_text: String,
    /// Model replies.
    pub rounds: u32,
    /// Every tool call, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Operation ids of calls that the policy denied.
    pub denied: Vec<String>,
    /// Operation ids of calls whose outcome nobody knows.
    pub unknown: Vec<String>,
    /// Tokens.
    pub token_usage: TokenUsage,
    /// What it cost, in dollars; absent where it cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Why it waits for money, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<ParkedReason>,
    /// Every attempt at its model rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_attempt_timeline: Option<AttemptTimeline>,
    /// From its beginning to its end; 0 while it is open.
    pub duration_ms: u64,
    /// What went wrong, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// When it began.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub ended_at: Option<String>,
    /// Why it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RunCause>,
    /// Who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The folder its commands run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The run that started it and waits for its end, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunLink>,
    /// The runs of other agents that it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<RunLink>,
    /// Every model round and tool call, in order.
    pub steps: Vec<Step>,
    /// Why its state could not be read, as a code; then only its rows are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Why it was moved aside, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Why a run ran: the message, and every gate it passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCause {
    /// What kind of message it was.
    pub kind: MessageKind,
    /// Whose word it was.
    pub authority: Authority,
    /// The door by which it came.
    pub surface: DeliverySurface,
    /// How that door knew the sender.
    pub context: AdmissionContext,
    /// When it came.
    #[schemars(with = "DateTime")]
    pub admitted_at: String,
    /// What was said; the whole text.
    pub text: String,
    /// How soon it wanted its turn.
    #[serde(default)]
    pub priority: Priority,
    /// What it belongs together with: the key with which its chain of causes began, or the name that a sender gave.
    #[serde(default)]
    pub correlation_id: String,
    /// What it was caused by: a run, a change, or the name that a sender gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// `run`, or the code of the refusal; none while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<WakeOutcome>,
    /// The run that took it up, if another did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_by: Option<String>,
    /// Every check, in order.
    pub gates: Vec<Gate>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// `open`, `quarantined`, or how it ended.
    pub status: RunStatus,
    /// Whether it is open and waits for money; the run itself says how much.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// The runs that it started and can do nothing without, while it waits for one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
    /// State changes so far.
    pub transitions: u64,
    /// When it began.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub ended_at: Option<String>,
    /// How the message begins that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Why it was moved aside, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Give it as `before` for older ones; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<String>,
}

/// One tool call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its operation.
    pub operation_id: String,
    /// How it stands.
    pub status: StepStatus,
    /// The enforced isolation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// Any step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its operation.
    pub operation_id: String,
    /// What kind of step it is.
    pub kind: StepKind,
    /// The tool, or the model.
    pub name: String,
    /// How it stands.
    pub status: StepStatus,
    /// The rule that permitted or denied it, or what was wrong.
    pub reason: String,
    /// When it was put down.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Tokens, for a model round.
    pub token_usage: TokenUsage,
    /// The enforced isolation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// What kind of step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A model round.
    Model,
    /// A tool call.
    Tool,
}
