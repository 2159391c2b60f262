//! What a model request contains. Assembly is deterministic and every block has a bound.
//!
//! Stable blocks come first, then what belongs to the agent, then what belongs to the turn, so that a
//! provider's cache can keep the front. Nothing turn-scoped stands inside a stable block.

mod contract;
mod frame;
mod guidance;
mod size;
mod window;

use serde::{Deserialize, Serialize};

use crate::conversation::{ToolSpec, TranscriptEntry};
use crate::id::AgentId;

pub use contract::{CONTRACT_BYTES_MAX, TURN_MODE_BYTES_MAX};
pub use frame::{IDENTITY_BYTES_MAX, PromptInputs, assemble};
pub use guidance::{GUIDANCE_BYTES_MAX, Guidance, GuidanceFile, GuidanceKind};
pub use size::{BYTES_PER_TOKEN, DOCUMENT_BYTES_PER_TOKEN, ENTRY_TOKENS, IMAGE_TOKENS, tokens_of};
pub use window::{WINDOW_BYTES_MAX, WINDOW_ENTRIES_MAX, window_start};

/// How long a block stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// The same for every agent and turn.
    Stable,
    /// The same for every turn of an agent.
    AgentScoped,
    /// Different every turn.
    TurnScoped,
}

/// What a block of the prompt is made from. Also the field by which the need to know is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockSource {
    /// The execution contract.
    Contract,
    /// Who the agent is and where it works.
    Identity,
    /// The agent's own `AGENTS.md`.
    AgentGuidance,
    /// The workspace's `AGENTS.md` or `CLAUDE.md`.
    WorkspaceGuidance,
    /// What kind of turn this is.
    TurnMode,
}

impl BlockSource {
    /// Most bytes of a block that is made from this.
    #[must_use]
    pub const fn bytes_max(self) -> usize {
        match self {
            Self::Contract => CONTRACT_BYTES_MAX,
            Self::Identity => IDENTITY_BYTES_MAX,
            Self::AgentGuidance | Self::WorkspaceGuidance => GUIDANCE_BYTES_MAX,
            Self::TurnMode => TURN_MODE_BYTES_MAX,
        }
    }

    /// How long a block that is made from this stays the same.
    #[must_use]
    pub const fn stability(self) -> Stability {
        match self {
            Self::Contract => Stability::Stable,
            Self::Identity | Self::AgentGuidance | Self::WorkspaceGuidance => Stability::AgentScoped,
            Self::TurnMode => Stability::TurnScoped,
        }
    }
}

/// One block of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBlock {
    /// The words.
    pub text: String,
    /// How long they stay the same.
    pub stability: Stability,
    /// What they are made from.
    pub source: BlockSource,
    /// Whether a provider's cache may end behind this block.
    pub cache_breakpoint: bool,
}

/// What providers cache a prompt by. Nothing here depends on the turn, but for the fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCache {
    /// Whose prompt it is.
    pub agent_id: AgentId,
    /// The same as long as system blocks and tools are the same.
    pub prompt_cache_key: String,
    /// Of everything that is sent; differs from turn to turn.
    pub context_fingerprint: String,
    /// Grows with durable memory. There is none yet.
    pub working_memory_revision: u64,
    /// Grows when the conversation is compacted. It is not yet.
    pub compression_epoch: u64,
}

impl PromptCache {
    /// Of a request that nobody need cache.
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

/// A whole request, before a transport gives it its provider's shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRequest {
    /// The model as it was asked for.
    pub model_ref: String,
    /// How many requests of this run have a recorded result. Chooses a script's next entry.
    pub request: u32,
    /// System blocks, most stable first.
    pub system: Vec<PromptBlock>,
    /// The conversation, oldest first.
    pub entries: Vec<TranscriptEntry>,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
    /// What the provider may cache it by.
    pub cache: PromptCache,
}
