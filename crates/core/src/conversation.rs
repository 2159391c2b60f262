//! The block model of conversations: model requests and replies in a form independent of the provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum number of tool calls performed per reply; further calls are refused. People cannot review a plan
/// of hundreds, and the machine's state must stay small.
pub const CALLS_PER_ROUND_MAX: usize = 32;

/// Maximum number of tool calls in a reply. A reply with more is treated as a broken response.
pub const CALLS_PER_REPLY_MAX: usize = 64;

/// Maximum size of a reply in bytes of canonical JSON: far more than providers emit, far less than memory
/// holds.
pub const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One block of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// The model requests a tool call.
    ToolUse(ToolCall),
    /// Reasoning output of the model. It must not be changed: providers sign it, and some reject a
    /// conversation without it.
    Thinking {
        /// The provider that produced it; it is not sent to any other.
        provider: String,
        /// A readable summary, if the provider returns one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The provider's own representation, sent back unchanged.
        opaque: Value,
    },
    /// A search of the web that the provider performed while it wrote the reply.
    WebSearch(WebSearch),
    /// An image or document from a person.
    Attachment(Attachment),
    /// The result of a tool call.
    ToolResult {
        /// The call that this result belongs to.
        call_id: String,
        /// Whether the tool call failed.
        is_error: bool,
        /// The result as the model reads it: JSON text.
        content: String,
    },
}

/// A query to the web that a provider performed, or what it found. What it found is text from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebSearch {
    /// The server that performed it; it is not sent to any other.
    pub provider: String,
    /// The query; empty for what was found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The addresses of what was found, as far as the provider reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The provider's own representation, sent back unchanged.
    pub opaque: Value,
}

/// Maximum number of addresses that are kept of one search. Providers report about ten.
pub const SEARCH_SOURCES_MAX: usize = 64;

/// Maximum length of a query that is shown; the provider's own representation has all of it.
pub const SEARCH_QUERY_CHARS_MAX: usize = 400;

/// An image or document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The file name without folders.
    pub name: String,
    /// The media type, such as `image/png` or `application/pdf`.
    pub media_type: String,
    /// The content in base64.
    pub data: String,
}

/// Maximum size of an attachment in bytes, before base64. Providers accept images up to this size.
pub const ATTACHMENT_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Maximum number of attachments of one message.
pub const ATTACHMENTS_MAX: usize = 8;

/// One tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, which links call and result.
    pub call_id: String,
    /// The tool's name as the model wrote it. The tool may not exist.
    pub name: String,
    /// The arguments as the model wrote them. They may have any shape.
    pub input: Value,
}

string_enum! {
    /// The role of a transcript entry.
    pub enum Role {
        /// A person, or another cause of the run.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool's result.
        Tool = "tool",
    }
}

/// One entry of a transcript with its contents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    pub role: Role,
    pub blocks: Vec<Block>,
}

/// Token counts reported by the provider. Zero if it did not report one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// Tokens of the request, including cached ones.
    pub input_tokens: u64,
    /// Tokens of the reply, including reasoning.
    pub output_tokens: u64,
    /// Request tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_read_tokens: u64,
    /// Request tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_write_tokens: u64,
    /// Reply tokens spent on reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Searches of the web that the provider performed and charges for. They are not tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub web_searches: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Counts of both directions, without caching and reasoning.
    #[must_use]
    pub const fn of(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            cached_read_tokens: 0,
            cached_write_tokens: 0,
            reasoning_tokens: 0,
            web_searches: 0,
        }
    }

    /// The sum of request and reply tokens.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Limits each count to the largest integer that canonical JSON represents exactly.
    #[must_use]
    pub fn countable(self) -> Self {
        const EXACT_MAX: u64 = (1 << 53) - 1;
        self.with(self, |count, _| count.min(EXACT_MAX))
    }

    /// Saturating addition.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input_tokens: join(self.input_tokens, other.input_tokens),
            output_tokens: join(self.output_tokens, other.output_tokens),
            cached_read_tokens: join(self.cached_read_tokens, other.cached_read_tokens),
            cached_write_tokens: join(self.cached_write_tokens, other.cached_write_tokens),
            reasoning_tokens: join(self.reasoning_tokens, other.reasoning_tokens),
            web_searches: join(self.web_searches, other.web_searches),
        }
    }
}

/// A tool as described to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// The form without JSON, for providers that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeform: Option<Freeform>,
}

/// A form of a tool in which the model writes plain text instead of JSON. The text is the value of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeform {
    /// The field of the arguments that holds the text.
    pub field: String,
    /// The grammar of the text, in the notation of Lark.
    pub grammar: String,
}

impl Freeform {
    /// The arguments of a call with this text.
    #[must_use]
    pub fn arguments(&self, text: &str) -> Value {
        Value::Object([(self.field.clone(), Value::from(text))].into_iter().collect())
    }

    /// The text of a call with these arguments; none if they have other fields.
    #[must_use]
    pub fn text<'a>(&self, input: &'a Value) -> Option<&'a str> {
        let fields = input.as_object().filter(|fields| fields.len() == 1)?;
        fields.get(&self.field)?.as_str()
    }
}

/// The text of all text blocks, in order.
#[must_use]
pub fn text_of(blocks: &[Block]) -> String {
    let words = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::ToolUse(_)
        | Block::ToolResult { .. }
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// All tool calls of the blocks, in order.
#[must_use]
pub fn calls_of(blocks: &[Block]) -> Vec<&ToolCall> {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        Block::Text { .. }
        | Block::ToolResult { .. }
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    calls.collect()
}

/// The searches of the web in the blocks, in order.
pub fn searches_of(blocks: &[Block]) -> impl Iterator<Item = &WebSearch> {
    blocks.iter().filter_map(|block| match block {
        Block::WebSearch(search) => Some(search),
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::ToolResult { .. }
        | Block::Thinking { .. }
        | Block::Attachment(_) => None,
    })
}
