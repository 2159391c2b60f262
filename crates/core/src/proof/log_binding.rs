//! Log bindings, which tie the run log to the event log. The event log is chained and signed, the run log
//! is not; so the last event of every transition contains a hash of its input and its results. Without it,
//! a run log could be replaced by another that leads to the same events.

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

/// Adds the log binding of a transition to the last of its events. A transition without events has none;
/// the states before and after it cover it.
pub fn attach_log_binding(run: &RunKey, row: &LoggedTransition<'_>, events: &mut [EventDraft]) {
    let Some(last) = events.last_mut() else { return };
    last.body.log_binding = Some(log_binding_hash(run, row));
    if let Payload::RunEnded(ended) = &mut last.body.payload {
        // The event then names the run that ended, without the run log.
        ended.run_key = Some(*run);
    }
}
