//! The category of each kind of event.

use super::EventCategory;
use crate::report::EventKind;

pub(super) const fn category(kind: EventKind) -> EventCategory {
    match kind {
        EventKind::MessageAdmitted => EventCategory::Message,
        EventKind::AgentStateChanged
        | EventKind::PolicyChanged
        | EventKind::BrakeChanged
        | EventKind::AttentionDismissed
        | EventKind::ContentErased => EventCategory::StateSync,
        EventKind::WakeDecided
        | EventKind::RunStarted
        | EventKind::SubRunStarted
        | EventKind::RunEnded
        | EventKind::QuarantineResolved
        | EventKind::RunUndone => EventCategory::Runtime,
        EventKind::DecisionAsked | EventKind::DecisionEscalated | EventKind::DecisionAnswered => {
            EventCategory::Waiting
        }
        EventKind::ProviderRoundCompleted | EventKind::DataPruned | EventKind::RowsBound => {
            EventCategory::Trace
        }
        EventKind::AssistantRoundRecorded => EventCategory::AssistantProgress,
        EventKind::PolicyDecided
        | EventKind::GuardrailTripped
        | EventKind::HookExecuted
        | EventKind::ConnectionRefused
        | EventKind::ToolExecuted
        | EventKind::ActionCancelled => EventCategory::Tool,
        EventKind::RuntimeError | EventKind::RunParked | EventKind::RunQuarantined => {
            EventCategory::OperatorNotification
        }
    }
}
