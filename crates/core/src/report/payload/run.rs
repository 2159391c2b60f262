//! Event payloads about a run and its steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attempt::AttemptRecord;
use crate::budget::{BudgetExceeded, MicroUsd};
use crate::conversation::Usage;
use crate::failure::FailureArtifact;
use crate::guardrail::{GuardrailAction, GuardrailPlace};
use crate::hook::{HookEvent, HookResult};
use crate::id::AgentId;
use crate::key::{OperationId, RunKey};
use crate::policy;
use crate::run::RunStatus;
use crate::snapshot::UndoDirection;
use crate::step::{ErrorEnvelope, StepResult, StepStatus};
use crate::tool::{CallEnd, Connection, EntityLink};

/// A run started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// Key of the run.
    pub run_key: RunKey,
    /// The requested model.
    pub model_ref: String,
    /// Maximum number of rounds.
    pub max_rounds: u32,
}

/// A model request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderRoundCompleted {
    /// The record of the attempt.
    #[serde(flatten)]
    pub attempt: Box<AttemptRecord>,
    /// Number of the round, from 0.
    pub round: u32,
}

/// A model reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantRoundRecorded {
    /// Number of the round.
    pub round: u32,
    /// Beginning of the reply's text.
    #[serde(default)]
    pub text: String,
    /// The requested tools.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The queries with which the provider searched the web for the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub web_searches: Vec<String>,
}

/// The policy decided on one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyDecided {
    /// Id of the action.
    pub operation_id: OperationId,
    /// The tool that the action uses.
    pub tool: String,
    /// Beginning of the tool's arguments.
    pub input: String,
    /// The verdict.
    pub effect: policy::PolicyEffect,
    /// The rule that decided.
    pub rule: String,
    /// Why: for an excluded target, the path or host and the entry of the list that excludes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the action acts on, as the verdict judged it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<policy::Target>,
    /// The steps of the decision, in order, and the branch that the action takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<policy::DecisionStep>,
    /// Result of the action, if it must not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StepStatus>,
    /// Stable code of the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The stage at which the action stopped, if it must not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<policy::GateStage>,
    /// The category of the denial, if it was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<policy::DenialCategory>,
}

/// A guardrail tripped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardrailTripped {
    /// What it read.
    pub place: GuardrailPlace,
    /// Its name.
    pub guardrail: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it does.
    pub action: GuardrailAction,
    /// Id of the action, if it read a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<OperationId>,
    /// The tool of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// A hook ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookExecuted {
    /// The event of the hook.
    pub hook_event: HookEvent,
    /// Beginning of its command, or its address.
    pub hook: String,
    /// The file that defines it.
    pub source: String,
    /// What it led to.
    pub result: HookResult,
    /// The reason that it gave, or the error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// The tool of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The provider's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Id of the action, if it had one when the hook ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<OperationId>,
}

/// A connection of a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionRefused {
    /// Id of the action.
    pub operation_id: OperationId,
    /// The tool that the action used.
    pub tool: String,
    /// The verdict: always a denial.
    pub effect: policy::PolicyEffect,
    /// The host as the command named it.
    pub host: String,
    /// The port on the host.
    pub port: u16,
    /// Why: the host, and the entry of the list that excludes it.
    pub reason: String,
    /// How often the command tried.
    pub count: u64,
}

impl ConnectionRefused {
    /// The event of a refused connection of an action.
    #[must_use]
    pub fn new(operation_id: OperationId, tool: &str, refused: &Connection) -> Self {
        Self {
            operation_id,
            tool: tool.to_owned(),
            effect: policy::PolicyEffect::Deny,
            host: refused.host.clone(),
            port: refused.port,
            reason: refused.reason.clone(),
            count: refused.count,
        }
    }
}

/// One action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExecuted {
    /// Id of the action.
    pub operation_id: OperationId,
    /// The tool that the action used.
    pub tool: String,
    /// Result of the action.
    pub status: StepStatus,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// The sandbox that was enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Exit status of a command. Absent for other actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Stable code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The stage at which the tool refused the action, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<policy::GateStage>,
    /// The category of the denial, if the tool refused the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<policy::DenialCategory>,
    /// The error with its parts, if the tool reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_error: Option<ErrorEnvelope>,
    /// The same error in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the action changed, as far as its tool knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<EntityLink>,
    /// Number of the attempt, if another follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Backoff until the next attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_in_ms: Option<u64>,
}

impl ToolExecuted {
    /// The event of an action's result.
    #[must_use]
    pub fn new(tool: &str, result: &StepResult) -> Self {
        let end = CallEnd::performed(result.status, result.code.as_deref(), result.content);
        Self {
            stage: end.category.map(|_| end.stage),
            category: end.category,
            operation_id: result.operation_id,
            tool: tool.to_owned(),
            status: result.status,
            duration_ms: result.duration_ms,
            sandbox: result.sandbox.clone(),
            exit_status: result.exit_status,
            code: result.code.clone(),
            tool_error: result.error.clone(),
            error: result.error.as_ref().map(ErrorEnvelope::flat),
            links: result.changed.iter().map(EntityLink::effect).collect(),
            attempt: None,
            again_in_ms: None,
        }
    }
}

/// A permitted action was cancelled before it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionCancelled {
    /// Id of the action.
    pub operation_id: OperationId,
    /// The tool that the action would have used.
    pub tool: String,
    /// Result of the action.
    pub status: StepStatus,
    /// Always 0, because the action never started.
    #[serde(default)]
    pub duration_ms: u64,
    /// Stable code of the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The stage at which the action stopped, if it must not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<policy::GateStage>,
    /// The category of the denial, if it was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<policy::DenialCategory>,
    /// The error with its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_error: Option<ErrorEnvelope>,
    /// The same error in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An error occurred that a person should know about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeError {
    /// The stored description of the failure.
    pub failure_artifact: FailureArtifact,
}

/// A run waits for budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunParked {
    /// Stable code of the reason.
    pub code: String,
    /// The exceeded cap.
    pub exceeded: BudgetExceeded,
    /// The action that does not begin; none if a model request is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ParkedAction>,
}

/// An action that a limit stops before it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedAction {
    /// Id of the action.
    pub operation_id: OperationId,
    /// The tool that the action uses.
    pub tool: String,
}

/// A run started a run of another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubRunStarted {
    /// The action that started it.
    pub operation_id: OperationId,
    /// The tool that started it.
    pub tool: String,
    /// Agent of the sub-run.
    pub child_agent_id: AgentId,
    /// Key of the sub-run.
    pub child_run_key: RunKey,
    /// Number of ancestors of the sub-run.
    pub depth: u32,
}

/// A run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnded {
    /// Final status of the run.
    pub outcome: RunStatus,
    /// Number of model replies.
    pub rounds: u32,
    /// Token counts of all requests.
    pub token_usage: Usage,
    /// Total cost; absent if the run was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<MicroUsd>,
    /// Key of the run, so that the event can be attributed without the run log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<RunKey>,
}

/// A run cannot continue until a person resumes or abandons it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunQuarantined {
    /// Key of the run.
    pub run_key: RunKey,
    /// Why the run cannot continue.
    #[serde(flatten)]
    pub fault: RunFault,
}

/// Why a run cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFault {
    /// Stable error code.
    pub code: String,
    /// Description of the error.
    pub why: String,
}

impl RunFault {
    /// The JSON form that is stored with the run.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A quarantined run was resumed or abandoned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineResolved {
    /// Key of the run.
    pub run_key: RunKey,
    /// The new status of the run.
    pub status: RunStatus,
}

/// A person dismissed failures that needed attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionDismissed {
    /// Keys of the dismissed runs.
    pub run_keys: Vec<RunKey>,
}

/// A person restored files of a workspace to their state before a run, or after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunUndone {
    /// Key of the run.
    pub run_key: RunKey,
    /// Which state was restored.
    pub direction: UndoDirection,
    /// Number of files whose content was restored.
    pub restored: u64,
    /// Number of files that were removed.
    pub removed: u64,
    /// Number of files that were left as they are, because they were changed since.
    pub skipped: u64,
}
