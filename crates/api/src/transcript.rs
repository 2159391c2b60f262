//! Endpoint and types for the transcript of an agent's conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::conversation::Role;
use wakeful_core::id::{AgentId, SessionId};
use wakeful_core::run::{RunStatus, WaitingFor};
use wakeful_core::step::ErrorEnvelope;

use crate::RunExplanation;
use crate::endpoint::endpoints;
use crate::text::{DateTime, Limit, Text};

endpoints! { "agents":
    /// Retrieves the newest entries of an agent's transcript, oldest first.
    GetAgentTranscript {
        agent_id: Text<AgentId>,
        /// The conversation. Defaults to `cli`.
        thread: Option<Text<SessionId>>,
        /// The maximum number of entries, counted from the newest.
        #[serde(default)]
        limit: Limit
    } = Get "/api/agents/{agent_id}/transcript" -> Transcript { 200 "The transcript" }
    /// Lists the conversations of an agent, the most recent first.
    ///
    /// A conversation is listed when the run of its first message has started.
    ListAgentThreads { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/threads" -> ThreadList { 200 "The conversations" }
}

/// The conversations of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadList {
    /// The conversations, the most recent first; at most 500.
    pub threads: Vec<Thread>,
}

/// A conversation between a person and an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// The name of the conversation.
    pub thread: String,
    /// The beginning of the newest text. Absent if the newest entries contain none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// When the newest entry was added.
    #[schemars(with = "DateTime")]
    pub last_at: String,
    /// The run in progress. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_run: Option<String>,
}

/// The newest entries of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// The agent's name.
    pub agent_id: String,
    /// The entries, oldest first.
    pub lines: Vec<TranscriptLine>,
    /// Whether there are older entries. Increase `limit` to retrieve them.
    pub has_more: bool,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptLine {
    /// The run that the entry belongs to.
    pub run_key: String,
    /// The author of the entry.
    pub role: Role,
    /// When the entry was added.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// The content of the entry.
    pub blocks: Vec<Block>,
    /// Whether the content was erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// How the run of this entry ended, or why it cannot continue. Only on the last entry of a run that did
    /// not succeed, is quarantined or waits for budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<TranscriptRun>,
}

/// A run in a transcript that did not succeed or cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptRun {
    /// The status of the run.
    pub status: RunStatus,
    /// What an open run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// The cause, and what a person can do.
    pub explanation: RunExplanation,
    /// The run that runs this one again, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_by: Option<String>,
}

/// One block of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning of the model before its reply, as far as the provider shows it.
    Thinking {
        /// A summary of the reasoning; often empty.
        text: String,
    },
    /// A search of the web that the provider performed while it wrote the reply, or what it found.
    WebSearch {
        /// The query; empty for what was found.
        query: String,
        /// The addresses of what was found, as far as the provider reports them.
        sources: Vec<String>,
    },
    /// An image or a document that a person attached, or an image that a tool returned.
    Attachment {
        /// The file name.
        name: String,
        /// The media type, such as `image/png`.
        media_type: String,
        /// The length of the contents in base64, in bytes.
        base64_bytes: usize,
    },
    /// A tool call that the model requested.
    ToolUse {
        /// The id that connects the call with its result.
        call_id: String,
        /// The name of the tool, as the model wrote it.
        name: String,
        /// The arguments as the model wrote them.
        input: Value,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// Whether the tool call failed.
        is_error: bool,
        /// The result that the model reads: JSON as a string.
        content: String,
        /// The error with its parts. Absent if the call succeeded, or if the result itself describes the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorEnvelope>,
    },
}
