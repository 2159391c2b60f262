//! What was said.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The newest lines of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Transcript {
    /// The lines.
    pub entries: Vec<TranscriptEntry>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TranscriptEntry {
    /// The run it came from.
    pub run_key: String,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// When.
    pub at: String,
    /// What was said; empty when it was erased.
    pub blocks: Vec<Block>,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// The model asks for a tool.
    ToolUse {
        /// Pairs call and result.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: serde_json::Value,
    },
    /// What became of it.
    ToolResult {
        /// Pairs call and result.
        call_id: String,
        /// True when the tool did not do what was asked.
        is_error: bool,
        /// What the model read.
        content: String,
    },
}
