//! Records: rows that govern what agents may do (caps, brakes, settings, schedules) are bound to a log of the home.
//! Each change of such a row appends a `rows_bound` event with the hash of its columns, in the same transaction, so
//! that the newest binding says what the row must be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::{AgentId, ThreadId};
use crate::json::{NotCanonical, digest};
use crate::key::{Digest, RunKey, derived_hash};
use crate::report::EventDraft;
use crate::report::payload::RowsBound;
use crate::time::Millis;

/// The member of a payload that holds the hash of a row.
const RECORD_HASH: &str = "row_hash";

/// Most rows that one event binds. More become several events.
pub const RECORDS_PER_EVENT_MAX: usize = 500;

/// What one event says of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowBinding {
    /// The table.
    pub table: String,
    /// The row's key as text.
    pub key: String,
    /// The hash of the columns that govern; none when the row was removed.
    pub row_hash: Option<Digest>,
}

/// The hash of a row: the SHA-256 of the canonical JSON of its table and columns, every value as text or null.
pub fn row_hash(table: &str, columns: Vec<(&str, Option<String>)>) -> Result<Digest, NotCanonical> {
    let columns = columns.into_iter();
    let row: Map<String, Value> = columns
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    digest(&json!({"table": table, "row": row}))
}

/// The event that binds rows.
#[must_use]
pub fn row_binding_event(bindings: &[RowBinding]) -> EventDraft {
    EventDraft::new(RowsBound {
        records: bindings.to_vec(),
    })
}

/// The salt of such an event. Its payload holds hashes and no words, so the salt need not be random.
#[must_use]
pub fn row_binding_salt(previous: &Digest) -> [u8; 32] {
    *derived_hash("record_salt", &[&previous.to_string()]).as_bytes()
}

/// What is settled about a run when it begins, as the event of its beginning holds the hash of it.
#[derive(Debug, Serialize)]
pub struct RunRecord<'a> {
    /// Which run.
    pub run_key: RunKey,
    /// Whose.
    pub agent_id: &'a AgentId,
    /// In which conversation.
    pub thread_id: &'a ThreadId,
    /// The machine that runs it.
    pub machine: &'a str,
    /// The version of that machine.
    pub machine_version: u32,
    /// When it began.
    pub started_at: Millis,
}

/// Puts the hash of a row into the event that tells of it. What has no canonical form has no row either.
pub fn attach<T: Serialize>(draft: &mut EventDraft, record: &T) {
    draft.body.row_hash = digest(record).ok();
}

/// A payload without the hash of a row that it may hold. The machine does not know that hash, so what it made is compared
/// without it.
#[must_use]
pub fn without_record_hash(payload: &[u8]) -> Option<(Vec<u8>, Digest)> {
    let mut value: Value = serde_json::from_slice(payload).ok()?;
    let hash = value.as_object_mut()?.remove(RECORD_HASH)?;
    let hash = serde_json::from_value(hash).ok()?;
    Some((crate::json::canonical(&value).ok()?, hash))
}
