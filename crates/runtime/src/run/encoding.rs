//! Encodes inputs, states and transcript entries for the store, before the transaction.

use wakeful_core::json::{NotCanonical, canonical, canonical_text, digest};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::{EntryWrite, STATE_BYTES_MAX};
use wakeful_core::time::Millis;
use wakeful_store::rows::{RunLogRow, RunRow, TranscriptEntryRow};

use super::transition::Applied;
use crate::EngineError;

/// Returns the run log row of an input, and the next state as JSON.
pub(super) fn journal(
    before: &RunRow,
    applied: &Applied<'_>,
    at: Millis,
) -> Result<(RunLogRow, String), NotCanonical> {
    let Applied {
        input, reads, moved, ..
    } = applied;
    let (input, reads, state) = (canonical(input)?, canonical(reads)?, canonical_text(&moved.turn)?);
    let row = RunLogRow {
        run_key: before.run_key,
        ordinal: before.version + 1,
        body: [b"[", input.as_slice(), b",", &reads, b"]"].concat(),
        reads_hash: Digest::of(&reads),
        state_hash: Digest::of(state.as_bytes()),
        effects_hash: digest(&moved.effects)?,
        at,
    };
    Ok((row, state))
}

/// Checks the size of a state. A state that grows without bound would make every step slower than the one
/// before.
pub(super) fn within_bounds(run: RunKey, state: &str) -> Result<(), EngineError> {
    if state.len() <= STATE_BYTES_MAX {
        return Ok(());
    }
    let why = format!(
        "its state has {} bytes, which is over the limit of {STATE_BYTES_MAX}",
        state.len()
    );
    Err(EngineError::InvalidState { run, why })
}

pub(super) fn entry_row(run_key: RunKey, entry: &EntryWrite, at: Millis) -> TranscriptEntryRow {
    TranscriptEntryRow {
        run_key,
        role: entry.role,
        content: entry.content,
        at,
        sources: entry.sources.clone(),
    }
}
