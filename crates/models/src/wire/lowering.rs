//! The settings for converting a request to a provider's format: output limits, caches and schemas. All of
//! them are optional, and a format uses only the capabilities that it declares.

use serde::Serialize;
use wakeful_core::conversation::{Block, TranscriptEntry};
use wakeful_core::schema::SchemaMode;

use crate::provider::Provider;
use crate::thinking::ThinkingRequest;

/// An optimisation that a format supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderPromptCapability {
    /// None: every request is sent completely, and the provider decides what to cache.
    FullRequestOnly,
    /// The provider finds its cache by a key.
    PromptCacheKey,
    /// Blocks are marked at which a cached prefix may end.
    PromptCacheBlocks,
    /// A request may contain only the items since the last response.
    IncrementalResponses,
    /// The provider removes old tool results from the model's input.
    ContextManagement,
}

impl ProviderPromptCapability {
    pub const ALL: [Self; 5] = [
        Self::FullRequestOnly,
        Self::PromptCacheKey,
        Self::PromptCacheBlocks,
        Self::IncrementalResponses,
        Self::ContextManagement,
    ];
}

impl Provider {
    /// Returns the optimisations that the format supports. No other one is ever used.
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

/// The settings for converting a request to a provider's format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lowering<'a> {
    pub(crate) provider: Provider,
    /// The scope of thoughts that are sent back. It differs from `provider`, because two servers with the
    /// same format cannot read each other's thoughts.
    pub(crate) thinking_scope: &'a str,
    /// The model's name at the provider.
    pub(crate) model: &'a str,
    /// The output limit in tokens, if one is sent. Anthropic always receives one.
    pub(crate) output_tokens_max: Option<u32>,
    /// The thinking setting, if one is configured.
    pub(crate) thinking: Option<ThinkingRequest>,
    /// The notation of tool schemas.
    pub(crate) schema: SchemaMode,
    /// Whether the request is sent to the provider's own server. Compatible servers may refuse unknown
    /// fields.
    pub(crate) own_server: bool,
    /// The optimisations that are enabled.
    pub(crate) uses: &'a [ProviderPromptCapability],
    /// Whether thoughts are requested in encrypted form, so that they can be sent back. Models without
    /// thoughts refuse the request field.
    pub(crate) sealed_thoughts: bool,
    /// Whether tools that have a free form are offered in it.
    pub(crate) freeform: bool,
    /// Whether the model accepts images.
    pub(crate) images: bool,
    /// Whether the provider searches the web for the model. Otherwise the tool is left out.
    pub(crate) web_search: bool,
    /// Which part of the conversation the provider stores.
    pub(crate) thread: ProviderThread<'a>,
}

/// Which part of the conversation the provider stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderThread<'a> {
    /// Nothing is stored.
    NotKept,
    /// The provider stores this request and its response, so that the next request can continue from there.
    Kept,
    /// The provider already has the first items, under the id of its last response.
    Continues {
        /// The id of the last response.
        response_id: &'a str,
        /// The number of items that the provider has.
        items: usize,
    },
}

impl Lowering<'_> {
    /// Returns the effort level, for formats that use one.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        match self.thinking? {
            ThinkingRequest::Effort(effort) => Some(effort.word()),
            // These formats never receive such a setting.
            ThinkingRequest::Nothing | ThinkingRequest::Tokens(_) => None,
        }
    }

    /// Whether the request asks for thoughts that can be sent back.
    pub(crate) fn asks_for_thoughts(&self) -> bool {
        self.sealed_thoughts && self.provider == Provider::OpenAi
    }

    /// Whether an optimisation is used: it is enabled, and the format supports it.
    pub(crate) fn may(&self, capability: ProviderPromptCapability) -> bool {
        self.provider.capabilities().contains(&capability) && self.uses.contains(&capability)
    }
}

/// How many of the newest tool results remain when a provider clears old ones: the provider's default.
pub const TOOL_RESULTS_KEPT: usize = 3;

/// Tool results that a provider could remove from the model's input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Clearable {
    /// The number of results.
    pub results: usize,
    /// Their total size in bytes.
    pub bytes: usize,
}

/// Counts the tool results that context management could clear: all except the newest few. The result
/// contains no content.
#[must_use]
pub fn clearable(entries: &[TranscriptEntry]) -> Clearable {
    let blocks = entries.iter().flat_map(|entry| &entry.blocks);
    let sizes = blocks.filter_map(|block| match block {
        Block::ToolResult { content, .. } => Some(content.len()),
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    let sizes: Vec<usize> = sizes.collect();
    let old = sizes.len().saturating_sub(TOOL_RESULTS_KEPT);
    Clearable {
        results: old,
        bytes: sizes.iter().take(old).sum(),
    }
}
