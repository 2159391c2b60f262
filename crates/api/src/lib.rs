//! The types of the HTTP API and of every `--json` output.
//!
//! The crate contains plain data without behaviour, and a small client (feature `client`). The OpenAPI
//! document and the types of the web page are generated from it, so a changed field is a changed contract
//! and shows in the snapshot of the document.
#![forbid(unsafe_code)]

mod agent;
mod agent_settings;
mod attention;
mod audit;
mod brake;
mod budget;
#[cfg(feature = "client")]
pub mod client;
mod decision;
pub mod endpoint;
mod erasure;
mod error;
mod event;
mod external_trigger;
mod journal;
mod journal_record;
mod login;
mod message;
mod policy;
mod predicate;
mod provider;
mod run;
mod run_change;
mod runtime;
mod schedule;
mod secret;
mod settings;
#[cfg(feature = "client")]
pub mod socket;
mod source;
mod subscription;
mod text;
mod transcript;
mod trust;
mod why;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use wakeful_core::agent_settings::{Change, SettingsChange};
pub use wakeful_core::attention::NextStep;
pub use wakeful_core::audit::{AuditDecision, AuditPosition};
pub use wakeful_core::cause::Priority;
pub use wakeful_core::change::ChangeKind as JournalChangeKind;
pub use wakeful_core::conversation::Role;
pub use wakeful_core::decision::{
    Badge, BlastRadius, Channel, DecisionKind, DecisionOption, DecisionStatus, InputGone, Severity,
};
pub use wakeful_core::external_trigger::{DeliveryMode, TriggerStatus};
pub use wakeful_core::failure::{FailureArtifact, FailureCategory};
pub use wakeful_core::inference::ReceiptChannel;
pub use wakeful_core::journal::{RecordKind, TaskStatus};
pub use wakeful_core::policy::{DenialCategory, ForeignTargetPolicy, GateStage};
pub use wakeful_core::problem::Problem;
pub use wakeful_core::prompt::GuidanceKind;
pub use wakeful_core::proof::Erasure;
pub use wakeful_core::report::present::{EventCategory, EventLevel, Presentation, Provenance};
pub use wakeful_core::run::{StatusFilter, WaitingFor};
pub use wakeful_core::saga::{SagaPhase, SagaStatus};
pub use wakeful_core::schedule::{
    Concurrency, ExecutionOutcome, Reason as ExecutionReason, ScheduleStatus, TriggerSource,
};
pub use wakeful_core::snapshot::{
    ChangedFile, FileChangeKind, NotCovered, RunChanges, SkipReason, SkippedFile, UncoveredEntry,
    UncoveredReason, UndoDirection, UndoReport,
};
pub use wakeful_core::step::StepStatus;
pub use wakeful_core::sub_run::RunLink;
pub use wakeful_core::wake::{AgentControl, Gate, HoldCode, InteractionMode, Lifecycle, Visibility};
pub use wakeful_core::watch::SourceKind;

pub use self::agent::*;
pub use self::agent_settings::*;
pub use self::attention::*;
pub use self::audit::*;
pub use self::brake::*;
pub use self::budget::*;
pub use self::decision::*;
pub use self::endpoint::{Endpoint, Operation};
pub use self::erasure::*;
pub use self::error::ErrorBody;
pub use self::event::*;
pub use self::external_trigger::*;
pub use self::journal::*;
pub use self::journal_record::*;
pub use self::login::*;
pub use self::message::*;
pub use self::policy::*;
pub use self::provider::*;
pub use self::run::*;
pub use self::run_change::*;
pub use self::runtime::*;
pub use self::schedule::*;
pub use self::secret::*;
pub use self::settings::*;
pub use self::source::*;
pub use self::subscription::*;
pub use self::text::{Hex, LIMIT_MAX, Limit, Text};
pub use self::transcript::*;
pub use self::trust::*;
pub use self::why::*;

/// Returns all endpoints.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    let nouns = [
        agent::OPERATIONS,
        agent_settings::OPERATIONS,
        attention::OPERATIONS,
        audit::OPERATIONS,
        brake::OPERATIONS,
        budget::OPERATIONS,
        decision::OPERATIONS,
        event::OPERATIONS,
        journal::OPERATIONS,
        login::OPERATIONS,
        message::OPERATIONS,
        erasure::OPERATIONS,
        journal_record::OPERATIONS,
        provider::OPERATIONS,
        run::OPERATIONS,
        run_change::OPERATIONS,
        runtime::OPERATIONS,
        schedule::OPERATIONS,
        secret::OPERATIONS,
        policy::OPERATIONS,
        settings::OPERATIONS,
        source::OPERATIONS,
        subscription::OPERATIONS,
        transcript::OPERATIONS,
        trust::OPERATIONS,
        external_trigger::OPERATIONS,
        why::OPERATIONS,
    ];
    nouns.into_iter().flatten()
}

/// Token counts as reported by the providers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// The tokens of model requests, including cached ones.
    pub input_tokens: u64,
    /// The tokens of model replies, including reasoning.
    pub output_tokens: u64,
    /// The sum of input and output tokens.
    pub total_tokens: u64,
    /// The input tokens that were read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_read_tokens: Option<u64>,
    /// The input tokens that were written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_write_tokens: Option<u64>,
    /// The output tokens that were used for reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The searches of the web that the provider performed and charges for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_searches: Option<u64>,
}
