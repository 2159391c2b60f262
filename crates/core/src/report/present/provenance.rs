//! Where an event came from, as far as its payload says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FACT_CHARS_MAX, line};
use crate::report::payload::Payload;

/// Where an event came from, as far as its payload says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The message behind it, by its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Whose word it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// The door by which it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    /// How that door knew the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What belongs together: the chain of causes that a message is of, else the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What caused a message, else the operation that caused the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// Reads the provenance out of a payload.
#[must_use]
pub fn provenance(payload: &Payload) -> Provenance {
    let fact = |text: &str| Some(line(text, FACT_CHARS_MAX)).filter(|text| !text.is_empty());
    let run = payload.run_key().map(|run| run.to_string());
    let Payload::MessageAdmitted(admitted) = payload else {
        // A message and the run that answers it have one key; only events about the message itself name it as such.
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
