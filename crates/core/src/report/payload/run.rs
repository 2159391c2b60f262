//! What events say about a run and its steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attempt::AttemptRecord;
use crate::budget::{BudgetExceeded, MicroUsd};
use crate::conversation::Usage;
use crate::failure::FailureArtifact;
use crate::id::AgentId;
use crate::key::{OperationId, RunKey};
use crate::policy;
use crate::run::RunStatus;
use crate::step::{StepResult, StepStatus};

/// A run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// Which run.
    pub run_key: RunKey,
    /// Who answers.
    pub model_ref: String,
    /// Most rounds.
    pub max_rounds: u32,
}

/// A model request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderRoundCompleted {
    /// What is kept of the attempt.
    #[serde(flatten)]
    pub attempt: Box<AttemptRecord>,
    /// Which round, from 0.
    pub round: u32,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantRoundRecorded {
    /// Which round.
    pub round: u32,
    /// How its words begin.
    #[serde(default)]
    pub text: String,
    /// The tools that it asked for.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// A verdict on one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyDecided {
    /// Which action.
    pub operation_id: OperationId,
    /// The tool.
    pub tool: String,
    /// How its arguments begin.
    pub input: String,
    /// The verdict.
    pub effect: policy::PolicyEffect,
    /// The rule that it rests on.
    pub rule: String,
    /// How the action ended, where it may not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StepStatus>,
    /// The stable word of why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// One action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExecuted {
    /// Which action.
    pub operation_id: OperationId,
    /// The tool.
    pub tool: String,
    /// How it ended.
    pub status: StepStatus,
    /// How long it took.
    pub duration_ms: u64,
    /// The isolation that was enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The stable word of what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which attempt it was, where another follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How long until the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_in_ms: Option<u64>,
}

impl ToolExecuted {
    /// The result of an action.
    #[must_use]
    pub fn new(tool: &str, result: &StepResult) -> Self {
        Self {
            operation_id: result.operation_id,
            tool: tool.to_owned(),
            status: result.status,
            duration_ms: result.duration_ms,
            sandbox: result.sandbox.clone(),
            code: result.code.clone(),
            attempt: None,
            again_in_ms: None,
        }
    }
}

/// One permitted action was called off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionCancelled {
    /// Which action.
    pub operation_id: OperationId,
    /// The tool.
    pub tool: String,
    /// How it counts.
    pub status: StepStatus,
    /// Always 0: it never began.
    #[serde(default)]
    pub duration_ms: u64,
    /// The stable word of why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Something failed that a person should know of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeError {
    /// What is kept of the failure.
    pub failure_artifact: FailureArtifact,
}

/// A run waits for money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunParked {
    /// The stable word of why it waits.
    pub code: String,
    /// Which cap is in its way.
    pub exceeded: BudgetExceeded,
}

/// A run started one of another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubRunStarted {
    /// The action that started it.
    pub operation_id: OperationId,
    /// The tool.
    pub tool: String,
    /// Whose run it is.
    pub child_agent_id: AgentId,
    /// The run.
    pub child_run_key: RunKey,
    /// How many runs stand above it.
    pub depth: u32,
}

/// A run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnded {
    /// How.
    pub outcome: RunStatus,
    /// Model replies.
    pub rounds: u32,
    /// Tokens.
    pub token_usage: Usage,
    /// What it cost; none where it cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<MicroUsd>,
    /// Which run, so that it can be told without the run's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<RunKey>,
}

/// A run cannot go on until a person says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunQuarantined {
    /// Which run.
    pub run_key: RunKey,
    /// Why.
    #[serde(flatten)]
    pub fault: RunFault,
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFault {
    /// The stable word.
    pub code: String,
    /// In a sentence.
    pub why: String,
}

impl RunFault {
    /// As the run's row keeps it.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A quarantined run goes on, or was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineResolved {
    /// Which run.
    pub run_key: RunKey,
    /// How it stands now.
    pub status: RunStatus,
}
