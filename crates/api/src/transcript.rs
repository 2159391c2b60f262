//! What was said.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The newest lines of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Transcript {
    /// Whose conversation.
    pub agent_id: String,
    /// The lines.
    pub lines: Vec<TranscriptLine>,
    /// Whether there are older ones: ask for more lines.
    pub has_more: bool,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TranscriptLine {
    /// The run it came from.
    pub run_key: String,
    /// Who speaks.
    pub role: Role,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// What is said.
    pub blocks: Vec<Block>,
    /// Whether what was said is gone for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, or whatever caused the run.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One piece of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// What the model thought before it spoke, as far as its provider shows it.
    Thinking {
        /// A summary in words; often empty.
        text: String,
    },
    /// A picture or a document that a person gave.
    Attachment {
        /// Its file name.
        name: String,
        /// What it is, such as `image/png`.
        media_type: String,
        /// How long it is in base64.
        base64_bytes: usize,
    },
    /// The model asks for a tool.
    ToolUse {
        /// Pairs call and result.
        call_id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments as the model wrote them.
        input: Value,
    },
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
