//! Where an event came from, as far as its payload says.

use serde_json::Value;

use super::{FACT_CHARS_MAX, line, word};
use crate::report::Kind;

/// Where an event came from, as far as its payload says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The message behind it, by its key.
    pub message_id: Option<String>,
    /// Whose word it was.
    pub authority: Option<String>,
    /// The door by which it came in.
    pub surface: Option<String>,
    /// How that door knew the sender.
    pub context: Option<String>,
    /// What belongs together: the chain of causes that a message is of, else the run.
    pub correlation_id: Option<String>,
    /// What caused a message, else the operation that caused the event.
    pub causation_id: Option<String>,
}

/// Reads the provenance out of a payload.
#[must_use]
pub fn provenance(kind: &str, payload: &Value) -> Provenance {
    let fact = |name| word(payload, name).map(|text| line(text, FACT_CHARS_MAX));
    // A message and the run that answers it have one key; only events about the message itself name it as such.
    let speaks_of_message = match Kind::parse(kind) {
        Some(Kind::MessageAdmitted | Kind::WakeDecided | Kind::RunStarted) => true,
        Some(_) | None => false,
    };
    Provenance {
        message_id: fact("run_key").filter(|_| speaks_of_message),
        authority: fact("authority"),
        surface: fact("surface"),
        context: fact("context"),
        correlation_id: fact("correlation_id").or_else(|| fact("run_key")),
        causation_id: fact("causation_id").or_else(|| fact("operation_id")),
    }
}
