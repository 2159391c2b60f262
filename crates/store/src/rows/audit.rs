//! Rows as read by the consistency check of the whole database.

use wakeful_core::decision::Decision;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::time::Millis;

use super::TranscriptEntryRow;

/// One column of a row's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPart {
    Int(i64),
    Text(String),
    /// Such as a hash.
    Bytes(Vec<u8>),
}

/// A row that is bound to the home's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRow {
    pub key: Vec<KeyPart>,
    /// The hash of the bound columns.
    pub hash: Digest,
}

impl BoundRow {
    /// Formats the key as it is written in the log.
    #[must_use]
    pub fn key_text(&self) -> String {
        let parts = self.key.iter().map(|part| match part {
            KeyPart::Int(value) => value.to_string(),
            KeyPart::Text(value) => value.clone(),
            KeyPart::Bytes(value) => value.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
        parts.collect::<Vec<String>>().join(" ")
    }
}

/// A row that contradicts the rows from which it is derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    /// The table and the column.
    pub place: &'static str,
    /// The row's key as text.
    pub row: String,
}

/// A transcript entry with its position in the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedEntry {
    pub position: i64,
    pub entry: TranscriptEntryRow,
}

/// A decision, and whether its run has received the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    pub decision: Decision,
    /// Whether the run has received the outcome.
    pub is_applied: bool,
}

/// The position of a message in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePosition {
    pub agent_id: AgentId,
    /// The sequence number of the admission event.
    pub seq: u64,
    /// The run that the message requests.
    pub run_key: RunKey,
    /// Messages are ordered by rank, lowest first.
    pub rank: i64,
    /// The time before which the message does not start.
    pub not_before: Option<Millis>,
    pub admitted_at: Millis,
}

/// What retention removed from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPruneState {
    /// 0: nothing; 1: the trace; 2: the contents as well.
    pub pruned: i64,
    /// Number of rows in its run log.
    pub journal_rows: i64,
}
