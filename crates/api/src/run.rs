//! Runs and their steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::TokenUsage;

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunLine {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// `open`, or its outcome.
    #[schema(example = "completed")]
    pub status: String,
    /// How many transitions it has made.
    pub transitions: i64,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunLine>,
}

/// A run with everything that happened in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its name.
    pub run_key: String,
    /// Whose run it is.
    pub agent_id: String,
    /// `open`, `completed`, `failed`, `out_of_rounds` or `cancelled`.
    pub outcome: String,
    /// The model's last words; empty until it ended.
    pub final_text: String,
    /// Model replies.
    pub rounds: u32,
    /// Every tool call, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Operation ids of calls that were not allowed to begin.
    pub denied: Vec<String>,
    /// Operation ids of calls that may or may not have happened.
    pub unknown: Vec<String>,
    /// Tokens of this run.
    pub token_usage: TokenUsage,
    /// From its beginning to its end; 0 while it is open.
    pub duration_ms: u64,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// What went wrong, when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// Every step, model rounds included.
    pub steps: Vec<Step>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its name in the outside world.
    pub operation_id: String,
    /// `ok`, `failed`, `denied`, `outcome_unknown`, or while it is under way `planned` or `intended`.
    pub status: String,
    /// The isolation that was really enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// One step: a model round or a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Step {
    /// Its id.
    pub operation_id: String,
    /// `model` or `tool`.
    pub kind: String,
    /// The model reference or the tool's name.
    pub name: String,
    /// How it stands.
    pub status: String,
    /// The rule that permitted or denied it, or what was wrong.
    pub reason: String,
    /// When it was put down.
    pub at: String,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Tokens, for a model round.
    pub token_usage: TokenUsage,
    /// The isolation that was really enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// What is kept of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureArtifact {
    /// `transport`, `protocol`, `runtime`, `task` or `unknown`.
    pub category: String,
    /// A stable word.
    pub kind: String,
    /// One sentence.
    pub summary: String,
    /// The provider, when one was involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model as it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// The HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What it was caused by, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
    /// Small facts beside it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}
