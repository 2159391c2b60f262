//! Runs and their steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wakeful_core::message::{AdmissionContext, Authority, DeliverySurface, Kind as MessageKind};
use wakeful_core::run::RunStatus;
use wakeful_core::wake::WakeOutcome;

use crate::{AttemptTimeline, Parked, Priority, TokenUsage};

/// A run with everything that happened in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// `open`, `queued`, `quarantined`, or how it ended: `completed`, `failed`, `out_of_rounds`, `cancelled`, `abandoned`.
    #[schema(value_type = String, example = "completed")]
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
    #[schema(nullable = false, example = "0.0042")]
    pub cost_usd: Option<String>,
    /// Why it waits for money, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parked: Option<Parked>,
    /// Every attempt at its model rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provider_attempt_timeline: Option<AttemptTimeline>,
    /// From its beginning to its end; 0 while it is open.
    pub duration_ms: u64,
    /// What went wrong, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub failure_artifact: Option<FailureArtifact>,
    /// When it began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub ended_at: Option<String>,
    /// Why it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cause: Option<RunCause>,
    /// Who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// The folder its commands run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub workspace: Option<String>,
    /// The run that started it and waits for its end, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent: Option<RunLink>,
    /// The runs of other agents that it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<RunLink>,
    /// Every model round and tool call, in order.
    pub steps: Vec<Step>,
    /// Why its state could not be read, as a code; then only its rows are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub unreadable: Option<String>,
    /// Why it was moved aside, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub fault: Option<String>,
}

/// A run that another one started or was started by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunLink {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// How it stands: `queued`, `open`, `quarantined`, or how it ended.
    #[schema(value_type = String)]
    pub status: RunStatus,
    /// What holds its agent, if something does: `braked` or `paused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub held: Option<String>,
}

/// Why a run ran: the message, and every gate it passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCause {
    /// What kind of message it was.
    #[schema(value_type = String, example = "operator_prompt")]
    pub kind: MessageKind,
    /// Whose word it was.
    #[schema(value_type = String, example = "operator_instruction")]
    pub authority: Authority,
    /// The door by which it came.
    #[schema(value_type = String, example = "http_control_prompt")]
    pub surface: DeliverySurface,
    /// How that door knew the sender.
    #[schema(value_type = String, example = "control_authenticated")]
    pub context: AdmissionContext,
    /// When it came.
    #[schema(format = DateTime)]
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
    #[schema(nullable = false)]
    pub causation_id: Option<String>,
    /// `run`, or the code of the refusal; none while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub verdict: Option<WakeOutcome>,
    /// The run that took it up, if another did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub absorbed_by: Option<String>,
    /// Every check, in order.
    pub gates: Vec<Gate>,
}

/// One check on the way to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// What was checked.
    pub gate: String,
    /// Whether it let the message pass.
    pub passed: bool,
    /// What was found, where a yes or no says too little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunLine {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// `open`, `quarantined`, or how it ended.
    #[schema(value_type = String)]
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
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub ended_at: Option<String>,
    /// How the message begins that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub preview: Option<String>,
    /// Why it was moved aside, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub fault: Option<String>,
}

/// Which runs to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// All of them.
    #[default]
    Any,
    /// Those that have not ended.
    Open,
    /// Those that cannot go on until a person says so.
    Quarantined,
}

impl RunState {
    /// The spelling of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Open => "open",
            Self::Quarantined => "quarantined",
        }
    }
}

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunLine>,
    /// Give it as `before` for older ones; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_before: Option<String>,
}

/// One tool call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its operation.
    pub operation_id: String,
    /// How it stands.
    pub status: StepStatus,
    /// The enforced isolation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sandbox: Option<String>,
}

/// Any step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    #[schema(format = DateTime)]
    pub at: String,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub duration_ms: Option<u64>,
    /// Tokens, for a model round.
    pub token_usage: TokenUsage,
    /// The enforced isolation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sandbox: Option<String>,
}

/// What kind of step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A model round.
    Model,
    /// A tool call.
    Tool,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// In the plan; nobody has begun it.
    Planned,
    /// It may begin any moment, or has begun.
    Intended,
    /// It did what was asked.
    Ok,
    /// It did not, and we know that.
    Failed,
    /// It was not allowed to begin.
    Denied,
    /// It may or may not have happened.
    OutcomeUnknown,
}

/// What is kept of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureArtifact {
    /// Where it failed.
    pub category: FailureCategory,
    /// A stable word for what failed.
    #[schema(example = "script_exhausted")]
    pub kind: String,
    /// One sentence for a person.
    pub summary: String,
    /// The provider, when one was involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provider: Option<String>,
    /// The model as it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model_ref: Option<String>,
    /// The HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<u16>,
    /// What it was caused by, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
    /// Small facts beside it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// The stage at which something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// On the way to or from a provider.
    Transport,
    /// A contract or a response was not as agreed.
    Protocol,
    /// In the run itself.
    Runtime,
    /// In a command or its frame.
    Task,
    /// None of these.
    Unknown,
}
