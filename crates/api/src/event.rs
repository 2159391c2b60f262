//! Events: what everybody sees.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Whose event it is.
    pub agent_id: String,
    /// Its number, without gaps per agent.
    pub seq: u64,
    /// The run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// What happened.
    #[schema(example = "run_ended")]
    pub kind: String,
    /// When.
    pub at: String,
    /// The details; null when they were erased.
    pub payload: serde_json::Value,
    /// Under which rules, where a verdict was involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// Its hash over everything before it.
    pub hash: String,
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// Oldest first.
    pub events: Vec<Event>,
    /// Where the next page begins.
    pub next_after_seq: u64,
    /// Whether there is more right now.
    pub more: bool,
}

/// A piece of text that the model is saying right now. Ephemeral: it has no number, and the committed round
/// replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delta {
    /// Whose run it is.
    pub agent_id: String,
    /// The run.
    pub run_key: String,
    /// Which request of the run; a new one begins the text anew.
    pub request: u32,
    /// Which piece of it, from 0.
    pub chunk: u32,
    /// The words.
    pub text: String,
}
