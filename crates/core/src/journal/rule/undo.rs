//! Taking a write back.

use std::collections::BTreeSet;

use super::super::{Record, RecordId, WriteError};
use super::RecordWrite;
use crate::time::Millis;

/// One record of a write that is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRecord {
    /// The version that the write made.
    pub version: u64,
    /// The record before it; none when it made the record.
    pub record: Option<Record>,
    /// The record as it is now.
    pub now: Record,
    /// What is there and belongs to it or speaks of it.
    pub dependents: Vec<RecordId>,
}

/// The records that take a write back, from what is there now. When somebody has written since, a person must decide:
/// undoing would take their words away, or what their words are about.
pub fn undo(write: Vec<UndoRecord>, at: Millis) -> Result<Vec<RecordWrite>, WriteError> {
    let of_write: BTreeSet<RecordId> = write.iter().map(|before| before.now.id().clone()).collect();
    let back = |before: UndoRecord| {
        let UndoRecord {
            version,
            record,
            now,
            dependents,
        } = before;
        let is_orphaning = record.is_none() && dependents.iter().any(|id| !of_write.contains(id));
        if now.version() != version || is_orphaning {
            return Err(WriteError::ChangedSince {
                kind: now.kind().as_str(),
                id: now.id().to_string(),
            });
        }
        let next = version.saturating_add(1);
        let after = match record {
            Some(record) => {
                let removed_at = record.life().removed_at;
                record.written(next, at, removed_at)
            }
            // What was made is taken away; a tombstone stays, because others may have heard of it.
            None => now.clone().written(next, at, Some(at)),
        };
        Ok(RecordWrite::from(now, after))
    };
    write.into_iter().map(back).collect()
}
