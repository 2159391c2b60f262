//! Row bindings. Rows that govern what agents may do (caps, brakes, settings, schedules) are bound to the log of the
//! home: each change of such a row appends a `rows_bound` event with the hash of its columns, in the same transaction.
//! The newest binding determines the valid content of the row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::{AgentId, ThreadId};
use crate::json::{NotCanonical, digest};
use crate::key::{Digest, RunKey, derived_hash};
use crate::report::EventDraft;
use crate::report::payload::RowsBound;
use crate::time::Millis;

/// The payload field that contains the hash of a row.
const ROW_HASH: &str = "row_hash";

/// Maximum number of rows that one event binds. More rows need several events.
pub const RECORDS_PER_EVENT_MAX: usize = 500;

/// The hash that ties one table row to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowBinding {
    /// Name of the table.
    pub table: String,
    /// The row's key as text.
    pub key: String,
    /// The hash of the columns that the log covers; `null` if the row was removed.
    pub row_hash: Option<Digest>,
}

/// The hash of a row: the SHA-256 of the canonical JSON of its table and columns, each value as text or
/// null.
pub fn row_hash(table: &str, columns: Vec<(&str, Option<String>)>) -> Result<Digest, NotCanonical> {
    let columns = columns.into_iter();
    let row: Map<String, Value> = columns
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    digest(&json!({"table": table, "row": row}))
}

/// Creates the event that binds rows.
#[must_use]
pub fn row_binding_event(bindings: &[RowBinding]) -> EventDraft {
    EventDraft::new(RowsBound {
        records: bindings.to_vec(),
    })
}

/// The salt of such an event. Its payload contains only hashes, so the salt need not be random.
#[must_use]
pub fn row_binding_salt(previous: &Digest) -> [u8; 32] {
    *derived_hash("record_salt", &[&previous.to_string()]).as_bytes()
}

/// The properties of a run that are fixed at its start. The start event contains their hash.
#[derive(Debug, Serialize)]
pub struct RunRecord<'a> {
    pub run_key: RunKey,
    pub agent_id: &'a AgentId,
    pub thread_id: &'a ThreadId,
    /// The kind of machine that drives it.
    pub machine: &'a str,
    /// The version of the machine.
    pub machine_version: u32,
    pub started_at: Millis,
}

/// Adds the hash of a row to its event. A value without a canonical form gets none.
pub fn attach<T: Serialize>(draft: &mut EventDraft, record: &T) {
    draft.body.row_hash = digest(record).ok();
}

/// Removes the hash of a row from a payload. The machine does not compute that hash, so its events are
/// compared without it.
#[must_use]
pub fn without_row_hash(payload: &[u8]) -> Option<(Vec<u8>, Digest)> {
    let mut value: Value = serde_json::from_slice(payload).ok()?;
    let hash = value.as_object_mut()?.remove(ROW_HASH)?;
    let hash = serde_json::from_value(hash).ok()?;
    Some((crate::json::canonical(&value).ok()?, hash))
}
