//! What goes over the wire, as types: the contract of the HTTP API and of every `--json` answer.
//!
//! Plain data without behaviour, and a small client that speaks it (feature `client`). The OpenAPI document and the
//! types of the web page are generated from here, so
//! a change of a field is a change of the contract, and the snapshot of the document shows it.
#![forbid(unsafe_code)]

mod agent;
mod budget;
#[cfg(feature = "client")]
pub mod client;
mod decision;
mod error;
mod event;
mod journal;
mod login;
mod message;
mod proof;
mod record;
mod run;
mod runtime;
mod schedule;
#[cfg(feature = "client")]
pub mod socket;
mod source;
mod subscription;
mod transcript;
mod trigger;
mod why;

pub use agent::{
    Activity, AgentList, AgentModelState, AgentState, AgentStatus, Control, CreateAgent, GuidanceKind,
    GuidanceRoot, Lifecycle, LoadedAgentsMd, Mode, ModelSource, Visibility,
};
pub use budget::{
    AgentBudget, AgentSpending, Attempt, AttemptTimeline, Budget, CapOrigin, DaySpending, Parked, Receipt,
    SetCap, SetModel,
};
pub use decision::{
    Announcement, Answer, AnswerDecision, Badge, BlastRadius, Brake, BrakeList, Channel, Decision,
    DecisionKind, DecisionList, DecisionOption, DecisionStatus, InputGone, NotDurable, PendingCancel,
    ReleaseBrake, SetBrake, Severity,
};
pub use error::{ErrorBody, Problem};
pub use event::{Category, Delta, Event, EventFeed, EventPage, Level, Presentation, Provenance};
pub use journal::{
    CreateCategory, CreateNote, CreateTask, JournalCategory, JournalCategoryList, Note, NoteList, RecordKind,
    Saga, SagaList, SagaPhase, SagaStatus, Task, TaskList, TaskStatus, UpdateTask, Written,
};
pub use login::{EnterLogin, LoggedIn, Login, LoginLink, LoginList, LoginPage, StreamTicket};
pub use message::{Accepted, Admission, Attached, Priority, Queued, SendMessage};
pub use proof::{EraseContent, Erasure};
pub use record::{
    BlockWrite, JournalChange, JournalChangeList, JournalOrder, JournalRecord, JournalRecordList,
    JournalWrite, Listed,
};
pub use run::{
    FailureArtifact, FailureCategory, Gate, Run, RunCause, RunLine, RunLink, RunList, RunState, Step,
    StepKind, StepStatus, ToolCall,
};
pub use runtime::{DaemonState, Health, LastFailure, Model, Phase, Readiness, Ready, RuntimeStatus, Stuck};
pub use schedule::{
    AddSchedule, Concurrency, EditSchedule, EventCame, EventFirings, ExecutionOutcome, Schedule,
    ScheduleHistory, ScheduleList, SchedulePattern, ScheduleStatus, ScheduledExecution, TriggerSchedule,
    TriggerSource, UnreadableSchedule,
};
use serde::{Deserialize, Serialize};
pub use source::{AddSource, Source, SourceKind, SourceList, SourceScan};
pub use subscription::{CreateSubscription, Subscription, SubscriptionList};
pub use transcript::{Block, Role, Transcript, TranscriptLine};
pub use trigger::{ExternalTrigger, TriggerDelivered};
use utoipa::ToSchema;
pub use why::{
    Hold, NextMoment, RefusalCount, SetMode, SetSleep, WaitingWake, Wake, WakeCause, WhyNot, WhyRun,
};

/// Tokens as the providers counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUsage {
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// The sum of both.
    pub total_tokens: u64,
    /// Those of requests that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cached_read_tokens: Option<u64>,
    /// Those of requests that were written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cached_write_tokens: Option<u64>,
    /// Those of replies that were thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reasoning_tokens: Option<u64>,
}
