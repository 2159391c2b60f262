//! What was said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::conversation::Role;
use wakeful_core::id::AgentId;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Limit, Text};

endpoints! { "agents":
    /// The newest lines of an agent's conversation, oldest first.
    GetAgentTranscript {
        agent_id: Text<AgentId>,
        /// Most lines, from the newest back.
        #[serde(default)]
        limit: Limit
    } = Get "/api/agents/{agent_id}/transcript" -> Transcript { 200 "The lines" }
}

/// The newest lines of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// Whose conversation.
    pub agent_id: String,
    /// The lines.
    pub lines: Vec<TranscriptLine>,
    /// Whether there are older ones: ask for more lines.
    pub has_more: bool,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptLine {
    /// The run it came from.
    pub run_key: String,
    /// Who speaks.
    pub role: Role,
    /// When.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// What is said.
    pub blocks: Vec<Block>,
    /// Whether what was said is gone for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// One piece of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
