//! What goes over the wire, as types: the contract of the HTTP API and of every `--json` answer.
//!
//! Plain data without behaviour, and a small client that speaks it (feature `client`). The OpenAPI document and the
//! types of the web page are generated from here, so
//! a change of a field is a change of the contract, and the snapshot of the document shows it.
#![forbid(unsafe_code)]

mod agent;
#[cfg(feature = "client")]
pub mod client;
mod error;
mod event;
mod message;
mod run;
mod runtime;
pub mod sse;
mod transcript;

pub use agent::{
    Activity, AgentList, AgentState, AgentStatus, Control, CreateAgent, GuidanceKind, GuidanceRoot,
    Lifecycle, LoadedAgentsMd, Visibility,
};
pub use error::{ErrorBody, Problem};
pub use event::{Category, Delta, Event, EventFeed, EventPage, Level, Presentation, Provenance};
pub use message::{Accepted, Admission, Attached, Queued, SendMessage};
pub use run::{
    FailureArtifact, FailureCategory, Gate, Run, RunCause, RunLine, RunList, Step, StepKind, StepStatus,
    ToolCall,
};
pub use runtime::{
    DaemonState, Health, LastFailure, LoginLink, Model, Phase, Readiness, Ready, RuntimeStatus, Stuck,
};
use serde::{Deserialize, Serialize};
pub use transcript::{Block, Role, Transcript, TranscriptLine};
use utoipa::ToSchema;

/// Tokens as the providers counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// The sum of both.
    pub total_tokens: u64,
}
