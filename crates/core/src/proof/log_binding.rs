//! What ties a journal to the log. The log is chained and signed, the journal is not; so the last event of every transition
//! holds a hash of what the run was told and of what that led to. Without it a journal could be exchanged for another one
//! that tells the same story in other words.

use super::replay::LoggedTransition;
use crate::key::{Digest, RunKey, derived_hash};
use crate::report::EventDraft;
use crate::report::payload::Payload;

/// `H("log_binding", run, ordinal, SHA-256 of the body, state hash, effects hash, time)`.
#[must_use]
pub fn log_binding_hash(run: &RunKey, row: &LoggedTransition<'_>) -> Digest {
    let fields = [
        run.to_string(),
        row.ordinal.to_string(),
        Digest::of(row.body).to_string(),
        row.state_hash.to_string(),
        row.effects_hash.to_string(),
        row.at.rfc3339(),
    ];
    derived_hash("log_binding", &fields.each_ref().map(String::as_str))
}

/// Puts the bond of a transition into the last of the events that it made. A transition without events has none: it says
/// nothing, and the states around it hold it.
pub fn attach_log_binding(run: &RunKey, row: &LoggedTransition<'_>, events: &mut [EventDraft]) {
    let Some(last) = events.last_mut() else { return };
    last.body.log_binding = Some(log_binding_hash(run, row));
    if let Payload::RunEnded(ended) = &mut last.body.payload {
        // Which run it is that ended can be read without the journal.
        ended.run_key = Some(*run);
    }
}
