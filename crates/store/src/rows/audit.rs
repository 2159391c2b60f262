//! Rows as a check of the whole database reads them.

use wakeful_core::decision::Decision;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::time::Millis;

use super::TranscriptEntryRow;

/// A part of a row's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPart {
    /// A number.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes, such as a hash.
    Bytes(Vec<u8>),
}

/// A row that is bound to the home's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRow {
    /// Its key.
    pub key: Vec<KeyPart>,
    /// The hash of the columns that govern.
    pub hash: Digest,
}

impl BoundRow {
    /// The key as the log spells it.
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

/// A row that is not what other rows say it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    /// The table and the column.
    pub place: &'static str,
    /// The row's key as text.
    pub row: String,
}

/// An entry of a transcript with its place in the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedEntry {
    /// The place.
    pub position: i64,
    /// The entry.
    pub entry: TranscriptEntryRow,
}

/// A decision, and whether its run has been told how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// The decision.
    pub decision: Decision,
    /// Whether the run has been told.
    pub is_applied: bool,
}

/// A message's place in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePosition {
    /// Whose queue.
    pub agent_id: AgentId,
    /// The event that announced it.
    pub seq: u64,
    /// The message.
    pub run_key: RunKey,
    /// Its rank; the least is first.
    pub rank: i64,
    /// The moment before which it does not begin.
    pub not_before: Option<Millis>,
    /// When the message was admitted.
    pub admitted_at: Millis,
}

/// What retention took from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPruneState {
    /// 0 for nothing, 1 for its trace, 2 for its contents as well.
    pub pruned: i64,
    /// Rows of its journal.
    pub journal_rows: i64,
}
