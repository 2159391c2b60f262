//! What each kind of event says: one struct per kind, for those who write events and for those who read them.
//!
//! Readers ignore fields that they do not know. A payload that was erased, or that this version cannot read, is none at
//! all; the event still counts, and its hash is over the stored bytes.

mod agent;
mod decision;
mod record;
mod run;
#[cfg(test)]
pub(super) mod tests;

use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::agent::{
    ALL_AGENTS, Actor, AgentStateChanged, BrakeChanged, MessageAdmitted, ScheduleChange, SubscriptionChange,
    TriggerChange, WakeDecided,
};
pub use self::decision::{AnswerGiven, DecisionAnswered, DecisionAsked, DecisionEscalated};
pub use self::record::{ContentErased, DataPruned, ErasedTarget, RowsBound};
pub use self::run::{
    ActionCancelled, AssistantRoundRecorded, PolicyDecided, ProviderRoundCompleted, QuarantineResolved,
    RunEnded, RunFault, RunParked, RunQuarantined, RunStarted, RuntimeError, SubRunStarted, ToolExecuted,
};
use crate::key::{Digest, OperationId, RunKey};

/// Declares the kinds of events: each is a variant of [`Kind`] and of [`Payload`], and has a struct of the same name.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident = $text:literal),+ $(,)?) => {
        string_enum! {
            /// What happened.
            #[derive(PartialOrd, Ord)]
            #[schemars(rename = "EventKind")]
            pub enum EventKind {
                $($(#[$meta])* $kind = $text),+
            }
        }

        /// What an event says, by its kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Payload {
            $($(#[$meta])* $kind($kind)),+
        }

        impl Payload {
            /// The kind of the event that says it.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$kind(_) => EventKind::$kind),+
                }
            }

            /// The schema of what each kind of event says.
            pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(EventKind, Schema)> {
                vec![$((EventKind::$kind, generator.subschema_for::<$kind>())),+]
            }

            /// Reads what an event of this kind says. None for a kind of a newer version, and where it says something else.
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
    /// An agent was made, paused, or let go on; pages refresh, nobody speaks.
    AgentStateChanged = "agent_state_changed",
    /// A message became a run, or did not.
    WakeDecided = "wake_decided",
    /// A run began.
    RunStarted = "run_started",
    /// A model request ended; telemetry only.
    ProviderRoundCompleted = "provider_round_completed",
    /// What the model said, as a preview, and the tools it asked for.
    AssistantRoundRecorded = "assistant_round_recorded",
    /// A verdict on one action, with the rule and its version.
    PolicyDecided = "policy_decided",
    /// One action ended, one way or another.
    ToolExecuted = "tool_executed",
    /// One action of a plan was permitted and then called off before it began.
    ActionCancelled = "action_cancelled",
    /// Something failed that a person should know of.
    RuntimeError = "runtime_error",
    /// A run waits for something that only a person or time can bring, such as money.
    RunParked = "run_parked",
    /// A run started one of another agent, and waits for its end.
    SubRunStarted = "sub_run_started",
    /// A run ended.
    RunEnded = "run_ended",
    /// A person is asked whether an action may be taken.
    DecisionAsked = "decision_asked",
    /// A question was answered, or its time ran out.
    DecisionAnswered = "decision_answered",
    /// A question was left too long and weighs more now.
    DecisionEscalated = "decision_escalated",
    /// A brake was set or released.
    BrakeChanged = "brake_changed",
    /// A run cannot go on until a person says so.
    RunQuarantined = "run_quarantined",
    /// A quarantined run goes on, or was given up.
    QuarantineResolved = "quarantine_resolved",
    /// A person had contents erased; the record of it stays.
    ContentErased = "content_erased",
    /// Old data was removed, as the rules of retention say.
    DataPruned = "data_pruned",
    /// Rows that govern were changed; only in the log of the home.
    RowsBound = "rows_bound",
}

/// What is stored of an event: its payload, and beside the payload's own fields the hashes that tie it to rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventBody {
    /// What the event says.
    #[serde(flatten)]
    pub payload: Payload,
    /// Ties the run's log to the chain; in the last event of each transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_binding: Option<Digest>,
    /// The hash of the row that the event tells of.
    #[serde(rename = "row_hash", skip_serializing_if = "Option::is_none")]
    pub row_hash: Option<Digest>,
}

/// What stands beside the payload.
#[derive(Default, Deserialize)]
struct Hashes {
    log_binding: Option<Digest>,
    row_hash: Option<Digest>,
}

impl EventBody {
    /// Reads what is stored. None for a kind of a newer version, and for what is not the payload of its kind.
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
            row_hash: row_hash,
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
            | Self::QuarantineResolved(QuarantineResolved { run_key, .. }) => Some(*run_key),
            Self::RunEnded(RunEnded { run_key, .. }) => *run_key,
            Self::ContentErased(erased) => match erased.target {
                ErasedTarget::Run { run_key } => Some(run_key),
                ErasedTarget::Events { .. } => None,
            },
            Self::AgentStateChanged(_)
            | Self::ProviderRoundCompleted(_)
            | Self::AssistantRoundRecorded(_)
            | Self::PolicyDecided(_)
            | Self::ToolExecuted(_)
            | Self::ActionCancelled(_)
            | Self::RuntimeError(_)
            | Self::RunParked(_)
            | Self::SubRunStarted(_)
            | Self::DecisionAsked(_)
            | Self::DecisionAnswered(_)
            | Self::DecisionEscalated(_)
            | Self::BrakeChanged(_)
            | Self::DataPruned(_)
            | Self::RowsBound(_) => None,
        }
    }

    /// The action that it is about.
    #[must_use]
    pub const fn operation_id(&self) -> Option<OperationId> {
        match self {
            Self::PolicyDecided(PolicyDecided { operation_id, .. })
            | Self::ToolExecuted(ToolExecuted { operation_id, .. })
            | Self::ActionCancelled(ActionCancelled { operation_id, .. })
            | Self::SubRunStarted(SubRunStarted { operation_id, .. })
            | Self::DecisionAsked(DecisionAsked { operation_id, .. })
            | Self::DecisionAnswered(DecisionAnswered { operation_id, .. })
            | Self::DecisionEscalated(DecisionEscalated { operation_id, .. }) => Some(*operation_id),
            Self::MessageAdmitted(_)
            | Self::AgentStateChanged(_)
            | Self::WakeDecided(_)
            | Self::RunStarted(_)
            | Self::ProviderRoundCompleted(_)
            | Self::AssistantRoundRecorded(_)
            | Self::RuntimeError(_)
            | Self::RunParked(_)
            | Self::RunEnded(_)
            | Self::BrakeChanged(_)
            | Self::RunQuarantined(_)
            | Self::QuarantineResolved(_)
            | Self::ContentErased(_)
            | Self::DataPruned(_)
            | Self::RowsBound(_) => None,
        }
    }
}
