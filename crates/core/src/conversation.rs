//! The block model: what a model is asked and what it answers, whatever the provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most tool calls taken from one reply. Above it the rest is refused: no one reads a plan of hundreds, and
/// the machine's state must stay small.
pub const CALLS_PER_ROUND_MAX: usize = 32;

/// Most tool calls a reply may contain at all. A reply with more is no plan but a broken response.
pub const CALLS_PER_REPLY_MAX: usize = 64;

/// Largest reply in bytes of canonical JSON. Far above what providers emit, far below what memory holds.
pub const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One piece of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// The model asks for a tool.
    ToolUse(ToolCall),
    /// What the model thought before it spoke. It is nobody's to read or change: providers sign it, and some refuse a
    /// conversation in which it is missing.
    Thinking {
        /// The provider that can read it; to any other it is not sent.
        provider: String,
        /// A readable summary, where the provider gives one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The provider's own record of it, to be sent back exactly as it came.
        opaque: Value,
    },
    /// A picture or a document that a person gave.
    Attachment(Attachment),
    /// What became of a tool call.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// True when the tool did not do what was asked.
        is_error: bool,
        /// What the model reads: JSON as text.
        content: String,
    },
}

/// A picture or a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its file name, without folders.
    pub name: String,
    /// What it is, such as `image/png` or `application/pdf`.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// Largest attachment in bytes, before base64. What the providers take for a picture.
pub const ATTACHMENT_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Most attachments of one message.
pub const ATTACHMENTS_MAX: usize = 8;

/// One tool call as the model spelled it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call; pairs call and result.
    pub call_id: String,
    /// The tool's name as the model wrote it. It may be invented.
    pub name: String,
    /// The arguments as the model wrote them. They may be of any shape.
    pub input: Value,
}

string_enum! {
    /// Who speaks in an entry of a transcript.
    pub enum Role {
        /// A person, or whatever caused the run.
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
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub blocks: Vec<Block>,
}

/// Tokens as the provider counted them. Zero where it did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// Tokens of the request, wherever the provider read them from.
    pub input_tokens: u64,
    /// Tokens of the reply, thoughts included.
    pub output_tokens: u64,
    /// Those of the request that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_read_tokens: u64,
    /// Those of the request that were written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_write_tokens: u64,
    /// Those of the reply that were thoughts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// A count of both directions, without a word on caches and thoughts.
    #[must_use]
    pub const fn of(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            cached_read_tokens: 0,
            cached_write_tokens: 0,
            reasoning_tokens: 0,
        }
    }

    /// The sum of both directions.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The same count, at most what canonical JSON holds exactly. No provider bills nine quadrillion tokens.
    #[must_use]
    pub fn countable(self) -> Self {
        const EXACT_MAX: u64 = (1 << 53) - 1;
        self.with(self, |count, _| count.min(EXACT_MAX))
    }

    /// Adds another count, without ever wrapping round.
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
        }
    }
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The registered name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// All the words of some blocks, in order.
#[must_use]
pub fn text_of(blocks: &[Block]) -> String {
    let words = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::ToolUse(_) | Block::ToolResult { .. } | Block::Thinking { .. } | Block::Attachment(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// All the tool calls of some blocks, in order.
#[must_use]
pub fn calls_of(blocks: &[Block]) -> Vec<&ToolCall> {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        Block::Text { .. } | Block::ToolResult { .. } | Block::Thinking { .. } | Block::Attachment(_) => None,
    });
    calls.collect()
}
