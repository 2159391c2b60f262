//! Types for the steps of runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::step::StepStatus;
use wakeful_core::tool::{Connection, ToolInvocation};

use crate::TokenUsage;
use crate::text::DateTime;

/// One tool call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// The operation id of the call.
    pub operation_id: String,
    /// The status of the call.
    pub status: StepStatus,
    /// The sandbox that was enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The exit status of a command. Absent for other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
}

/// One step of a run: a model round or a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The operation id of the step.
    pub operation_id: String,
    /// The kind of step.
    pub kind: StepKind,
    /// The name of the tool or model.
    pub name: String,
    /// The status of the step.
    pub status: StepStatus,
    /// The rule that allowed or denied the step, or the error.
    pub reason: String,
    /// When the step was created.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// The duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tokens used by a model round.
    pub token_usage: TokenUsage,
    /// The sandbox that was enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The arguments of a tool call as JSON. Absent if they were erased, removed by retention, or are too far
    /// back in a long run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<StepText>,
    /// The standard output of a command, the result of another tool as JSON, or the text of a model reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<StepText>,
    /// The error output of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_output: Option<StepText>,
    /// What was enforced for a command: `enforced`, `partly_enforced` or `not_enforced` for each of `path`, `write`,
    /// `network`, `secret` and `child_process`. Empty for other tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub confinement: BTreeMap<String, String>,
    /// The connections of a command to hosts outside its sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<Connection>,
    /// What a person should look at after a command, such as a new Git hook in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// The exit status of a command; 128 and more if a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The pending decision that the tool call waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_id: Option<String>,
    /// The audit record of a tool call that has ended, performed or denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<ToolInvocation>,
}

/// A text of a step, within a bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepText {
    /// The text. If it is truncated: its beginning, a line that states what is omitted, and its end.
    pub text: String,
    /// The size of the whole text in bytes.
    pub bytes: u64,
    /// Whether `text` is not the whole text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A model round.
    Model,
    /// A tool call.
    Tool,
}
