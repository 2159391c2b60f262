//! Wire types of messages and their causes.

use wakeful_api::{QueuedMessage, RunCause};
use wakeful_runtime::api::Previewed;
use wakeful_runtime::rows::QueueRow;
use wakeful_runtime::stored_run::CauseReport;

/// A queued message.
#[must_use]
pub fn queued(waiting: &Previewed<QueueRow>) -> QueuedMessage {
    let message = &waiting.row.message;
    QueuedMessage {
        run_key: message.run_key.to_string(),
        seq: waiting.row.seq,
        priority: message.cause.priority,
        admitted_at: message.admitted_at.rfc3339(),
        preview: waiting.preview.clone().unwrap_or_default(),
        thread: message.thread_id.session().map(|session| session.to_string()),
    }
}

/// The cause of a run.
pub(super) fn cause(cause: &CauseReport) -> RunCause {
    let message = &cause.message;
    let wake = cause.wake.as_ref();
    // This program wrote the gates; a row that was altered shows none.
    let gates = wake.and_then(|wake| serde_json::from_str(&wake.gates).ok());
    let (why, own) = (&message.cause, &message.run_key);
    RunCause {
        kind: message.kind,
        authority: message.authority,
        surface: message.surface,
        context: message.context,
        admitted_at: message.admitted_at.rfc3339(),
        text: cause.text.clone().unwrap_or_default(),
        priority: why.priority,
        correlation_id: why.correlation_of(own).to_string(),
        causation_id: why.causation.as_ref().map(ToString::to_string),
        verdict: wake.map(|wake| wake.verdict),
        absorbed_by: wake.and_then(|wake| wake.absorbed_by).map(|run| run.to_string()),
        gates: gates.unwrap_or_default(),
    }
}
