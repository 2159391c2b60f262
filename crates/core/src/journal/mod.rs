//! The journal: what people wrote or observed, and what agents wrote for them.
//!
//! Nothing of an agent's inside can be said here: there is no record, no mutation and no column for a state, a message
//! or a report. Agents appear only by name, as authors.
//!
//! [`rule`] decides what a write leads to and how it is undone; the store reads what the rule asks for, and commits
//! what it answers in one transaction. [`told`] says what a record tells the outside: tokens, and the fields that a
//! predicate can ask for.

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

/// Longest title of a task, in characters: one line.
pub const TITLE_CHARS_MAX: usize = 200;

/// Longest name of a category, in characters.
pub const CATEGORY_CHARS_MAX: usize = 64;

/// Longest details of a task, in bytes.
pub const DETAILS_BYTES_MAX: usize = 16 * 1024;

/// Longest note, in bytes.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// Longest remark on a time entry, a plan, one of its blocks or a rating, in bytes.
pub const REMARK_BYTES_MAX: usize = 4 * 1024;

/// Most items of a checklist.
pub const ITEMS_MAX: usize = 200;

/// Most blocks of a planned day: its quarters of an hour.
pub const BLOCKS_MAX: usize = 96;

/// Most records that are moved along when a category is taken away.
pub const MOVED_MAX: usize = 500;

/// The highest upper end of a scale; it begins at 1.
pub const SCALE_MOST_MAX: u32 = 100;

/// Who wrote something. An agent is here by its name only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// A person.
    Person,
    /// An agent, in a run whose operation id names the write.
    Agent(AgentId),
    /// Nobody here: it was found so outside, and who did it cannot be told.
    Source,
}

impl Author {
    /// The spelling that is stored and shown.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Person => "person".into(),
            Self::Agent(agent) => format!("agent:{agent}"),
            Self::Source => "outside".into(),
        }
    }

    /// Reads the stored spelling.
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

/// What came of an order. Kept, so that the same order is always answered with the same receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteReceipt {
    /// What kind of record was written.
    pub kind: RecordKind,
    /// Which one.
    pub record_id: RecordId,
    /// How many writes it has seen with this one.
    pub version: u64,
    /// The keys of what the write says to the outside.
    pub tokens: Vec<String>,
    /// The write as a change.
    pub unit: ChangeUnit,
    /// The other records that the same transaction wrote, as changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ChangeUnit>,
}

/// The id under which a write is undone.
#[must_use]
pub fn compensation_id(operation: &OperationId) -> OperationId {
    OperationId(derived_hash("compensation", &[&operation.to_string()]))
}

/// The id of a write that a person asks for: derived from the key they gave, or from a fresh one.
#[must_use]
pub fn person_operation_id(key: &str) -> OperationId {
    OperationId(derived_hash("operation.person", &[key]))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Words for what an agent is, knows and says about itself.
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

    #[test]
    fn nothing_of_an_agents_inside_can_be_said_in_the_journal() {
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
        // What is smuggled in beside the fields that there are is not kept.
        let note = json!({"kind": "create_note", "text": "n", "task": null, "agent_state": {"goal": "x"}});
        let note: Mutation = serde_json::from_value(note).expect("a note");
        assert_eq!(
            serde_json::to_value(&note).expect("JSON").get("agent_state"),
            None::<&Value>
        );
    }
}
