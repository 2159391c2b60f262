//! The origin of an event, as far as its payload contains it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FACT_CHARS_MAX, line};
use crate::report::payload::Payload;

/// The origin of an event, as far as its payload contains it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Key of the message that caused the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Authority of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// Interface through which the message arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    /// How the sender was authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Correlation of the message, or else the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Causation of the message, or else the operation that caused the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// Extracts the provenance from a payload.
#[must_use]
pub fn provenance(payload: &Payload) -> Provenance {
    let fact = |text: &str| Some(line(text, FACT_CHARS_MAX)).filter(|text| !text.is_empty());
    let run = payload.run_key().map(|run| run.to_string());
    let Payload::MessageAdmitted(admitted) = payload else {
        // A message and its run have the same key; only events about the message itself report it as the
        // message id.
        let is_of_message = matches!(payload, Payload::WakeDecided(_) | Payload::RunStarted(_));
        return Provenance {
            message_id: run.clone().filter(|_| is_of_message),
            correlation_id: run,
            causation_id: payload.operation_id().map(|operation| operation.to_string()),
            ..Provenance::default()
        };
    };
    let correlation = admitted.correlation_id.as_ref().and_then(|id| fact(id.as_str()));
    Provenance {
        authority: Some(admitted.authority.to_string()),
        surface: Some(admitted.surface.to_string()),
        context: Some(admitted.context.to_string()),
        correlation_id: correlation.or_else(|| run.clone()),
        causation_id: admitted.causation_id.as_ref().and_then(|id| fact(id.as_str())),
        message_id: run,
    }
}
