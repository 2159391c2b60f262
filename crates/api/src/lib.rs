//! What travels over HTTP: JSON in snake_case, times as RFC 3339 in UTC, keys as hex.
//!
//! These types are a promise to other programs and change only with a line in the changelog. They know nothing
//! of the core's types: the server turns one into the other, so that a rename inside never shows outside. The
//! web page's types are generated from them.
#![forbid(unsafe_code)]

mod agent;
mod error;
mod event;
mod message;
mod run;
mod runtime;
mod transcript;

pub use agent::{AgentList, AgentState, AgentStatus, Control, CreateAgent};
pub use error::{ErrorBody, ErrorDetail};
pub use event::{Delta, Event, EventPage};
pub use message::{Accepted, Admission, SendMessage};
pub use run::{FailureArtifact, Run, RunLine, RunList, Step, ToolCall};
pub use runtime::{Activity, Health, Readiness, RuntimeStatus};
pub use transcript::{Block, Transcript, TranscriptEntry};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Tokens as providers counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// Both together.
    pub total_tokens: u64,
}
