//! The journal: records that people wrote or observed, and that agents wrote for them.
//!
//! Agents' internal data cannot be stored here: no record, mutation or column exists for a state, a message
//! or a report. Agents appear only by id, as authors.
//!
//! Module [`rule`] decides what a write results in and how it is undone; the store reads what the rule
//! requests, and commits the result in one transaction. Module [`tokens`] derives what subscribers receive:
//! tokens, and the fields that a predicate can use.

mod day;
mod error;
mod id;
mod label;
mod mutation;
mod record;
pub mod rule;
pub mod tokens;

use serde::{Deserialize, Serialize};

use crate::change::ChangeUnit;
use crate::id::AgentId;
use crate::key::{OperationId, derived_hash};

pub use self::day::CalendarDay;
pub use self::error::WriteError;
pub use self::id::{RECORD_ID_DIGITS, RecordId, RecordKind};
pub use self::label::{LINK_KIND_CHARS_MAX, LinkKind, SCALE_CHARS_MAX};
pub use self::mutation::{DayPlanBlockWrite, Mutation, ReadRequest, RelatedRecords};
pub use self::record::{
    Category, Checklist, ChecklistItem, DayPlan, DayPlanBlock, Link, Note, Rating, RatingTarget, Record,
    RecordMeta, Task, TaskStatus, TimeEntry,
};

/// Maximum length of a task's title in characters: one line.
pub const TITLE_CHARS_MAX: usize = 200;

/// Maximum length of a category's name in characters.
pub const CATEGORY_CHARS_MAX: usize = 64;

/// Maximum length of a task's details in bytes.
pub const DETAILS_BYTES_MAX: usize = 16 * 1024;

/// Maximum length of a note in bytes.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// Maximum length in bytes of a remark on a time entry, a plan, one of its blocks or a rating.
pub const REMARK_BYTES_MAX: usize = 4 * 1024;

/// Maximum number of items of a checklist.
pub const ITEMS_MAX: usize = 200;

/// Maximum number of blocks of a day plan: one per quarter of an hour.
pub const BLOCKS_MAX: usize = 96;

/// Maximum number of records that are moved when a category is deleted.
pub const MOVED_MAX: usize = 500;

/// The greatest upper end of a scale; scales start at 1.
pub const SCALE_MOST_MAX: u32 = 100;

/// The author of a write. An agent appears only by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    Person,
    /// An agent, in a run whose operation id names the write.
    Agent(AgentId),
    /// A watched source; the actual author is unknown.
    Source,
}

impl Author {
    /// The text that is stored and shown.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Person => "person".into(),
            Self::Agent(agent) => format!("agent:{agent}"),
            Self::Source => "outside".into(),
        }
    }

    /// Parses the stored text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("agent:") {
            Some(agent) => AgentId::parse(agent).ok().map(Self::Agent),
            None => [Self::Person, Self::Source]
                .into_iter()
                .find(|author| author.to_text() == text),
        }
    }
}

/// The result of a write. It is stored, so that a repeated write returns the same receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteReceipt {
    pub kind: RecordKind,
    pub record_id: RecordId,
    /// The record's number of writes, including this one.
    pub version: u64,
    /// The keys of the write's tokens.
    pub tokens: Vec<String>,
    /// The write as a change unit.
    pub unit: ChangeUnit,
    /// The change units of the other records in the same transaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ChangeUnit>,
}

/// The operation id under which a write is undone.
#[must_use]
pub fn compensation_id(operation: &OperationId) -> OperationId {
    OperationId(derived_hash("compensation", &[&operation.to_string()]))
}

/// The operation id of a person's write, derived from their idempotency key or a generated one.
#[must_use]
pub fn person_operation_id(key: &str) -> OperationId {
    OperationId(derived_hash("operation.person", &[key]))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Words for agents' internal data.
    const INSIDE: [&str; 8] = [
        "agent",
        "agent_state",
        "agent_message",
        "agent_report",
        "memory",
        "message",
        "report",
        "transcript",
    ];

    // Conformance: L-002
    #[test]
    fn agents_internal_data_cannot_be_stored_in_the_journal() {
        let id = RecordId::derived(RecordKind::Note, &person_operation_id("k"));
        for word in INSIDE {
            assert_eq!(RecordKind::parse(word), None, "{word}");
            let record = json!({word: {"id": id, "text": "I think", "created_at": 1, "version": 1}});
            assert!(serde_json::from_value::<Record>(record).is_err(), "{word}");
            for kind in [word.to_owned(), format!("create_{word}"), format!("write_{word}")] {
                let wanted = json!({"kind": kind, "text": "I think", "body": {}, "id": id});
                assert!(serde_json::from_value::<Mutation>(wanted).is_err(), "{kind}");
            }
        }
        // Unknown fields are not stored.
        let note = json!({"kind": "create_note", "text": "n", "task": null, "agent_state": {"goal": "x"}});
        let note: Mutation = serde_json::from_value(note).expect("a note");
        assert_eq!(
            serde_json::to_value(&note).expect("JSON").get("agent_state"),
            None::<&Value>
        );
    }
}
