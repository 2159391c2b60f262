//! Undo of a journal write.

use std::collections::BTreeSet;

use super::super::{Record, RecordId, WriteError};
use super::RecordWrite;
use crate::time::Millis;

/// One record of a write to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRecord {
    /// The version that the write created.
    pub version: u64,
    /// The record before the write; `None` if the write created it.
    pub record: Option<Record>,
    /// The current record.
    pub now: Record,
    /// Existing records that belong to it or refer to it.
    pub dependents: Vec<RecordId>,
}

/// Returns the writes that undo a write, based on the current records. Fails if a record was written since:
/// undoing would discard the later write or its subject, so a person must decide.
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
            // A created record is deleted; its tombstone stays, because other devices may already have the
            // record.
            None => now.clone().written(next, at, Some(at)),
        };
        Ok(RecordWrite::from(now, after))
    };
    write.into_iter().map(back).collect()
}
