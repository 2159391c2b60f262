//! The contents of a model request. Assembly is deterministic, and every block has a maximum size.
//!
//! Stable blocks come first, then those of the agent, then those of the turn, so that a provider can cache
//! the beginning. A stable block contains nothing specific to a turn.

mod contract;
mod frame;
mod guidance;
mod size;
mod window;

use serde::{Deserialize, Serialize};

use crate::answer_schema::AnswerSchema;
use crate::conversation::{ToolSpec, TranscriptEntry};
use crate::id::AgentId;

pub use contract::{CONTRACT_BYTES_MAX, TURN_MODE_BYTES_MAX};
pub use frame::{ANSWER_BLOCK_BYTES_MAX, IDENTITY_BYTES_MAX, PromptInputs, assemble};
pub use guidance::{GUIDANCE_BYTES_MAX, Guidance, GuidanceFile, GuidanceKind};
pub use size::{
    BYTES_PER_TOKEN, DOCUMENT_BYTES_PER_TOKEN, ENTRY_TOKENS, IMAGE_TOKENS, WEB_SEARCH_TOKENS, tokens_of,
};
pub use window::{WINDOW_BYTES_MAX, WINDOW_ENTRIES_MAX, window_start};

/// How long a block stays unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// Equal for every agent and turn.
    Stable,
    /// Equal for every turn of an agent.
    AgentScoped,
    /// Specific to a turn.
    TurnScoped,
}

/// The source of a prompt block. The inference gates check it as a kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockSource {
    /// The execution contract.
    Contract,
    /// The agent's id and workspace.
    Identity,
    /// The agent's own `AGENTS.md`.
    AgentGuidance,
    /// The workspace's `AGENTS.md` or `CLAUDE.md`.
    WorkspaceGuidance,
    /// The kind of turn.
    TurnMode,
    /// The schema that the answer must fit.
    AnswerSchema,
}

impl BlockSource {
    /// Maximum size of a block from this source, in bytes.
    #[must_use]
    pub const fn bytes_max(self) -> usize {
        match self {
            Self::Contract => CONTRACT_BYTES_MAX,
            Self::Identity => IDENTITY_BYTES_MAX,
            Self::AgentGuidance | Self::WorkspaceGuidance => GUIDANCE_BYTES_MAX,
            Self::TurnMode => TURN_MODE_BYTES_MAX,
            Self::AnswerSchema => ANSWER_BLOCK_BYTES_MAX,
        }
    }

    /// How long a block from this source stays unchanged.
    #[must_use]
    pub const fn stability(self) -> Stability {
        match self {
            Self::Contract => Stability::Stable,
            Self::Identity | Self::AgentGuidance | Self::WorkspaceGuidance => Stability::AgentScoped,
            Self::TurnMode | Self::AnswerSchema => Stability::TurnScoped,
        }
    }
}

/// One block of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBlock {
    pub text: String,
    pub stability: Stability,
    pub source: BlockSource,
    /// Whether a provider's cached prefix may end after this block.
    pub cache_breakpoint: bool,
}

/// Cache keys of a prompt. Only the fingerprint depends on the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCache {
    pub agent_id: AgentId,
    /// Unchanged as long as system blocks and tools are unchanged.
    pub prompt_cache_key: String,
    /// The hash of everything that is sent; it differs in each turn.
    pub context_fingerprint: String,
    /// Increases when durable memory changes. Currently always 0.
    pub working_memory_revision: u64,
    /// Increases when the conversation is compacted. Currently always 0.
    pub compression_epoch: u64,
}

impl PromptCache {
    /// The keys of a request that needs no caching.
    #[must_use]
    pub const fn none(agent_id: AgentId) -> Self {
        Self {
            agent_id,
            prompt_cache_key: String::new(),
            context_fingerprint: String::new(),
            working_memory_revision: 0,
            compression_epoch: 0,
        }
    }
}

/// A complete request, before a transport converts it to the provider's format.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRequest {
    /// The requested model.
    pub model_ref: String,
    /// The number of this run's requests with a recorded result. It selects the next entry of a script.
    pub request: u32,
    /// System blocks, most stable first.
    pub system: Vec<PromptBlock>,
    /// The conversation, oldest first.
    pub entries: Vec<TranscriptEntry>,
    /// The tool definitions.
    pub tools: Vec<ToolSpec>,
    /// The schema that the answer must fit. Transports enforce it where the provider can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<AnswerSchema>,
    pub cache: PromptCache,
}
