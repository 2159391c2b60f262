//! Agents.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{RunLine, TokenUsage};

/// Whether an agent works on what is in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// It does.
    Running,
    /// It queues what comes and begins nothing new.
    Paused,
}

/// An agent as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentStatus {
    /// Its name.
    #[schema(example = "main")]
    pub agent_id: String,
    /// `public`, or `private` for an agent made for one call.
    pub visibility: String,
    /// Where it stands in its life.
    pub lifecycle: String,
    /// Whether it works on its queue.
    pub control: Control,
    /// The folder its commands run in.
    pub workspace: String,
    /// When it was made.
    pub created_at: String,
    /// Tokens over all its runs.
    pub token_usage: TokenUsage,
    /// Model rounds over all its runs.
    pub model_rounds: u64,
    /// Messages that wait for their turn.
    pub pending: u64,
    /// The run that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_run: Option<String>,
    /// The number of its newest event; 0 before the first.
    pub last_seq: u64,
}

/// All agents that are listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    /// By name.
    pub agents: Vec<AgentStatus>,
}

/// What a page needs to begin: the agent, its newest runs, and where to follow its events from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentState {
    /// The agent.
    pub agent: AgentStatus,
    /// Its newest runs, newest first.
    pub runs: Vec<RunLine>,
}

/// Makes an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    /// Its name: 1 to 64 of a-z, 0-9, '-' and '_', beginning with a letter or digit.
    #[schema(pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", example = "main")]
    pub agent_id: String,
    /// The folder its commands run in and may write to, absolute; the daemon's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}
