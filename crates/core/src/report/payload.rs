//! The payload of each kind of event, one struct per kind, shared by writers and readers of events.
//!
//! Readers ignore unknown fields. An erased payload, or one that this version cannot parse, is treated as
//! absent; the event stays valid, because its hash covers the stored bytes.

mod agent;
mod decision;
mod record;
mod run;
#[cfg(test)]
pub(crate) mod tests;

use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::agent::{
    ALL_AGENTS, Actor, AgentStateChanged, BrakeChanged, MessageAdmitted, PolicyChanged, ScheduleChange,
    SubscriptionChange, TriggerChange, WakeDecided,
};
pub use self::decision::{AnswerGiven, DecisionAnswered, DecisionAsked, DecisionEscalated};
pub use self::record::{ContentErased, DataPruned, ErasedTarget, RowsBound};
pub use self::run::{
    ActionCancelled, AssistantRoundRecorded, AttentionDismissed, ConnectionRefused, GuardrailTripped,
    HookExecuted, ParkedAction, PolicyDecided, ProviderRoundCompleted, QuarantineResolved, RunEnded,
    RunFault, RunParked, RunQuarantined, RunStarted, RunUndone, RuntimeError, SubRunStarted, ToolExecuted,
};
use crate::key::{Digest, OperationId, RunKey};

/// Declares the kinds of events: each is a variant of [`EventKind`] and of [`Payload`], and has a struct of
/// the same name.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident = $text:literal),+ $(,)?) => {
        string_enum! {
            /// The kind of an event.
            #[derive(PartialOrd, Ord)]
            #[schemars(rename = "EventKind")]
            pub enum EventKind {
                $($(#[$meta])* $kind = $text),+
            }
        }

        /// The payload of an event, by kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Payload {
            $($(#[$meta])* $kind($kind)),+
        }

        impl Payload {
            /// The kind of event that has this payload.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$kind(_) => EventKind::$kind),+
                }
            }

            /// The JSON schemas of all payloads.
            pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(EventKind, Schema)> {
                vec![$((EventKind::$kind, generator.subschema_for::<$kind>())),+]
            }

            /// Parses the payload of an event. Returns `None` for an unknown kind or a payload of another
            /// shape.
            #[must_use]
            pub fn read(kind: &str, payload: &Value) -> Option<Self> {
                match EventKind::parse(kind)? {
                    $(EventKind::$kind => $kind::deserialize(payload).map(Self::$kind).ok()),+
                }
            }
        }

        $(impl From<$kind> for Payload {
            fn from(payload: $kind) -> Self {
                Self::$kind(payload)
            }
        })+
    };
}

kinds! {
    /// A message entered the queue.
    MessageAdmitted = "message_admitted",
    /// The state or configuration of an agent changed. It makes pages refresh and is not part of the
    /// conversation.
    AgentStateChanged = "agent_state_changed",
    /// The verdict on a message: whether it starts a run.
    WakeDecided = "wake_decided",
    /// A run started.
    RunStarted = "run_started",
    /// A model request ended. For telemetry only.
    ProviderRoundCompleted = "provider_round_completed",
    /// The model replied: a preview of its text and the requested tools.
    AssistantRoundRecorded = "assistant_round_recorded",
    /// The policy decided on one action.
    PolicyDecided = "policy_decided",
    /// A guardrail tripped.
    GuardrailTripped = "guardrail",
    /// A hook ran.
    HookExecuted = "hook_executed",
    /// A connection of a command was refused.
    ConnectionRefused = "connection_refused",
    /// One action ended, with any result.
    ToolExecuted = "tool_executed",
    /// A permitted action was cancelled before it started.
    ActionCancelled = "action_cancelled",
    /// An error occurred that a person should know about.
    RuntimeError = "runtime_error",
    /// A run waits for something that only a person or time can provide, such as budget.
    RunParked = "run_parked",
    /// A run started a run of another agent and waits for its end.
    SubRunStarted = "sub_run_started",
    /// A run ended.
    RunEnded = "run_ended",
    /// A person is asked whether an action may be performed.
    DecisionAsked = "decision_asked",
    /// A decision was answered, or cancelled after its deadline.
    DecisionAnswered = "decision_answered",
    /// A decision passed its deadline and has a higher severity now.
    DecisionEscalated = "decision_escalated",
    /// The policy files in force for the agent changed since the last decision.
    PolicyChanged = "policy_changed",
    /// A brake was set or released.
    BrakeChanged = "brake_changed",
    /// A run cannot continue until a person resumes or abandons it.
    RunQuarantined = "run_quarantined",
    /// A quarantined run was resumed or abandoned.
    QuarantineResolved = "quarantine_resolved",
    /// A person dismissed failures that needed attention.
    AttentionDismissed = "attention_dismissed",
    /// A person restored files of a workspace to their state before a run, or after it.
    RunUndone = "run_undone",
    /// A person erased contents; the record of the erasure stays.
    ContentErased = "content_erased",
    /// Retention removed old data.
    DataPruned = "data_pruned",
    /// Rows that the log covers changed. Only in the log of the home.
    RowsBound = "rows_bound",
}

/// The stored content of an event: its payload, and the hashes that bind rows to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventBody {
    #[serde(flatten)]
    pub payload: Payload,
    /// Binds the run log to the chain; in the last event of each transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_binding: Option<Digest>,
    /// The hash of the row that the event describes.
    #[serde(rename = "row_hash", skip_serializing_if = "Option::is_none")]
    pub row_hash: Option<Digest>,
}

/// The fields stored beside the payload.
#[derive(Default, Deserialize)]
struct Hashes {
    log_binding: Option<Digest>,
    row_hash: Option<Digest>,
}

impl EventBody {
    /// Parses a stored event. Returns `None` for an unknown kind or a payload of another shape.
    #[must_use]
    pub fn read(kind: &str, stored: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(stored).ok()?;
        let payload = Payload::read(kind, &value)?;
        let Hashes {
            log_binding,
            row_hash,
        } = serde_json::from_value(value).unwrap_or_default();
        Some(Self {
            payload,
            log_binding,
            row_hash,
        })
    }
}

impl Payload {
    /// The run or message that it names.
    #[must_use]
    pub fn run_key(&self) -> Option<RunKey> {
        match self {
            Self::MessageAdmitted(MessageAdmitted { run_key, .. })
            | Self::WakeDecided(WakeDecided { run_key, .. })
            | Self::RunStarted(RunStarted { run_key, .. })
            | Self::RunQuarantined(RunQuarantined { run_key, .. })
            | Self::QuarantineResolved(QuarantineResolved { run_key, .. })
            | Self::RunUndone(RunUndone { run_key, .. }) => Some(*run_key),
            Self::RunEnded(RunEnded { run_key, .. }) => *run_key,
            Self::ContentErased(erased) => match erased.target {
                ErasedTarget::Run { run_key } => Some(run_key),
                ErasedTarget::Events { .. } => None,
            },
            Self::AgentStateChanged(_)
            | Self::ProviderRoundCompleted(_)
            | Self::AssistantRoundRecorded(_)
            | Self::PolicyDecided(_)
            | Self::PolicyChanged(_)
            | Self::GuardrailTripped(_)
            | Self::HookExecuted(_)
            | Self::ConnectionRefused(_)
            | Self::ToolExecuted(_)
            | Self::ActionCancelled(_)
            | Self::RuntimeError(_)
            | Self::RunParked(_)
            | Self::SubRunStarted(_)
            | Self::DecisionAsked(_)
            | Self::DecisionAnswered(_)
            | Self::DecisionEscalated(_)
            | Self::BrakeChanged(_)
            | Self::AttentionDismissed(_)
            | Self::DataPruned(_)
            | Self::RowsBound(_) => None,
        }
    }

    /// The action that it refers to.
    #[must_use]
    pub const fn operation_id(&self) -> Option<OperationId> {
        match self {
            Self::PolicyDecided(PolicyDecided { operation_id, .. })
            | Self::ConnectionRefused(ConnectionRefused { operation_id, .. })
            | Self::ToolExecuted(ToolExecuted { operation_id, .. })
            | Self::ActionCancelled(ActionCancelled { operation_id, .. })
            | Self::SubRunStarted(SubRunStarted { operation_id, .. })
            | Self::DecisionAsked(DecisionAsked { operation_id, .. })
            | Self::DecisionAnswered(DecisionAnswered { operation_id, .. })
            | Self::DecisionEscalated(DecisionEscalated { operation_id, .. }) => Some(*operation_id),
            Self::GuardrailTripped(GuardrailTripped { operation_id, .. })
            | Self::HookExecuted(HookExecuted { operation_id, .. }) => *operation_id,
            Self::MessageAdmitted(_)
            | Self::AgentStateChanged(_)
            | Self::WakeDecided(_)
            | Self::RunStarted(_)
            | Self::ProviderRoundCompleted(_)
            | Self::AssistantRoundRecorded(_)
            | Self::RuntimeError(_)
            | Self::RunParked(_)
            | Self::RunEnded(_)
            | Self::PolicyChanged(_)
            | Self::BrakeChanged(_)
            | Self::RunQuarantined(_)
            | Self::QuarantineResolved(_)
            | Self::AttentionDismissed(_)
            | Self::RunUndone(_)
            | Self::ContentErased(_)
            | Self::DataPruned(_)
            | Self::RowsBound(_) => None,
        }
    }
}
