//! What a request becomes beside its own words: lengths, caches, schemas. All of it is optional, and a format is given
//! only what it declares to know.

use serde::Serialize;
use wakeful_core::conversation::{Block, TranscriptEntry};
use wakeful_core::schema::SchemaMode;

use crate::provider::Provider;
use crate::thinking::ThinkingRequest;

/// An optimisation that a format knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderPromptCapability {
    /// None: every request is sent whole, and the provider caches what it likes.
    FullRequestOnly,
    /// The provider finds its cache by a key.
    PromptCacheKey,
    /// Blocks are marked behind which a cached part may end.
    PromptCacheBlocks,
    /// A request may send only what is new since the last answer.
    IncrementalResponses,
    /// The provider takes old tool results out of what the model reads.
    ContextManagement,
}

impl ProviderPromptCapability {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::FullRequestOnly,
        Self::PromptCacheKey,
        Self::PromptCacheBlocks,
        Self::IncrementalResponses,
        Self::ContextManagement,
    ];
}

impl Provider {
    /// The optimisations that its format knows. No other is ever used.
    #[must_use]
    pub const fn capabilities(self) -> &'static [ProviderPromptCapability] {
        use ProviderPromptCapability::{
            ContextManagement, FullRequestOnly, IncrementalResponses, PromptCacheBlocks, PromptCacheKey,
        };
        match self {
            Self::Anthropic => &[PromptCacheBlocks, ContextManagement],
            Self::OpenAi => &[PromptCacheKey, IncrementalResponses],
            Self::OpenAiChat | Self::OpenAiCodex => &[PromptCacheKey],
            Self::Gemini => &[FullRequestOnly],
        }
    }
}

/// How a request is given its provider's shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lowering<'a> {
    /// Whose shape.
    pub(crate) provider: Provider,
    /// Whose thoughts go back, by the word that stands in them: who has this shape is not always who can read them.
    pub(crate) thinker: &'a str,
    /// The model's name there.
    pub(crate) model: &'a str,
    /// Longest reply in tokens, where the provider is told one. Anthropic always is.
    pub(crate) output_tokens_max: Option<u32>,
    /// How much the model is asked to think, where anybody says so.
    pub(crate) thinking: Option<ThinkingRequest>,
    /// How tool schemas are spelled.
    pub(crate) schema: SchemaMode,
    /// Whether it goes to the provider itself. Those who imitate it may refuse fields that they do not know.
    pub(crate) own_server: bool,
    /// The optimisations that are switched on.
    pub(crate) uses: &'a [ProviderPromptCapability],
    /// Whether thoughts are asked for in the form that can be sent back. Models that have none refuse the question.
    pub(crate) sealed_thoughts: bool,
    /// What the provider keeps of the conversation.
    pub(crate) thread: ProviderThread<'a>,
}

/// What the provider keeps of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderThread<'a> {
    /// Nothing.
    NotKept,
    /// This request and its answer, so that the next can go on from there.
    Kept,
    /// It has the first items already, under the id of its last answer.
    Continues {
        /// The last answer's id.
        response_id: &'a str,
        /// How many items it has.
        items: usize,
    },
}

impl Lowering<'_> {
    /// How hard the model is asked to think, for formats that say it in a word.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        match self.thinking? {
            ThinkingRequest::Effort(effort) => Some(effort.word()),
            // These formats are never asked so.
            ThinkingRequest::Nothing | ThinkingRequest::Tokens(_) => None,
        }
    }

    /// Whether a request asks for thoughts that can be sent back.
    pub(crate) fn asks_for_thoughts(&self) -> bool {
        self.sealed_thoughts && self.provider == Provider::OpenAi
    }

    /// Whether an optimisation is used: it is switched on, and the format declares it.
    pub(crate) fn may(&self, capability: ProviderPromptCapability) -> bool {
        self.provider.capabilities().contains(&capability) && self.uses.contains(&capability)
    }
}

/// How many of the newest tool results stay when a provider clears old ones: its own default.
pub const TOOL_RESULTS_KEPT: usize = 3;

/// Tool results that a provider could leave out of what its model reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Clearable {
    /// How many.
    pub results: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// Counts the tool results that context management could clear: all but the newest few. It counts and shows nothing.
#[must_use]
pub fn clearable(entries: &[TranscriptEntry]) -> Clearable {
    let blocks = entries.iter().flat_map(|entry| &entry.blocks);
    let sizes = blocks.filter_map(|block| match block {
        Block::ToolResult { content, .. } => Some(content.len()),
        Block::Text { .. } | Block::ToolUse(_) | Block::Thinking { .. } | Block::Attachment(_) => None,
    });
    let sizes: Vec<usize> = sizes.collect();
    let old = sizes.len().saturating_sub(TOOL_RESULTS_KEPT);
    Clearable {
        results: old,
        bytes: sizes.iter().take(old).sum(),
    }
}
