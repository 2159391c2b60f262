//! The rest of what people wrote: records of every kind, writes to them, and what was committed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::change::ChangeKind as JournalChangeKind;
use wakeful_core::id::TurnId;
use wakeful_core::journal::{CalendarDay, RecordId, RecordKind};
use wakeful_core::time::Millis;

use crate::WriteReceipt;
use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, LINE, Limit, NO_ZERO, Text, whole, whole_number};

endpoints! { "journal":
    /// Records of a kind.
    ListRecords = Get "/api/journal/records" -> JournalRecordList {
        200 "The records",
        404 "The record that the kind belongs to is not named",
    }
    /// One record of any kind; a deleted one too.
    GetRecord { record_id: Text<RecordId> } = Get "/api/journal/records/{record_id}" -> JournalRecord { 200 "The record" }
    /// Writes to the journal. Everything that one write touches is one transaction.
    WriteJournal = Post "/api/journal/writes" -> WriteReceipt { 200 "It is written", 404 "There is no such record" }
    /// What was committed after a number, oldest first: the outbox.
    ListChanges {
        /// Only those after this number.
        #[serde(default)]
        #[schemars(range(max = i64::MAX))]
        after_seq: u64,
        /// Most changes; the last transaction is told whole.
        #[serde(default)]
        limit: Limit
    } = Get "/api/journal/changes" -> JournalChangeList { 200 "The changes" }
}

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRecords {
    /// Of what kind.
    pub kind: RecordListKind,
    /// Only those that belong to this record.
    pub related_id: Option<Text<RecordId>>,
    /// Only those of this day.
    pub date: Option<Text<CalendarDay>>,
    /// Only time entries that run.
    #[serde(default)]
    pub running: bool,
    /// With the kind `any`: how the id begins.
    pub prefix: Option<Hex<1, 32>>,
    /// Most records.
    #[serde(default)]
    pub limit: Limit,
}

impl ListRecords {
    /// All of a kind.
    #[must_use]
    pub const fn all(kind: RecordListKind, limit: Limit) -> Self {
        Self {
            kind,
            related_id: None,
            date: None,
            running: false,
            prefix: None,
            limit,
        }
    }
}

/// A record of any kind: one flat object, and what a predicate sees. What it has besides these fields depends on its
/// kind; what it has not is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalRecord {
    /// What kind it is.
    pub kind: RecordKind,
    /// Its name: 32 hex digits.
    pub id: Text<RecordId>,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// Whether it was deleted; its tombstone can be restored.
    pub removed: bool,
    /// What its kind has.
    #[serde(flatten)]
    pub fields: BTreeMap<String, Value>,
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordListKind {
    /// Checklists, newest first; `of` is a task.
    Checklist,
    /// The items of the checklist `of`, in order.
    ChecklistItem,
    /// Time entries, the last start first; `of` is a task.
    TimeEntry,
    /// Plans, the last day first; `date` names one.
    DayPlan,
    /// The blocks of the plan `of`, or of the plan of `date`, in order.
    DayPlanBlock,
    /// Ratings, newest first; `of` is a record, `date` a day.
    Rating,
    /// Links, newest first; `of` is a record at either end.
    Link,
    /// Any kind, by `prefix`; deleted records are among them.
    Any,
}

/// Records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalRecordList {
    /// The records.
    pub records: Vec<JournalRecord>,
}

/// What a block of a day is to be from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DayPlanBlockWrite {
    /// Which one; without it a new one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_id: Option<Text<RecordId>>,
    /// From when.
    pub starts_at: Text<Millis>,
    /// Until when.
    pub ends_at: Text<Millis>,
    /// What is to be done then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Text<RecordId>>,
    /// The part of a life that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<Text<RecordId>>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
    pub note: Option<String>,
}

/// The known words, or a namespaced one.
const LINK_KIND: &str = concat!(
    r"^(relates_to|blocks|follows|part_of|derived_from|duplicates|",
    r"[a-z][a-z0-9_]*:[a-z][a-z0-9_]*)$"
);

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JournalWrite {
    /// Another name for a category.
    RenameCategory {
        /// Which category.
        category_id: Text<RecordId>,
        /// Its new name.
        #[schemars(length(min = 1, max = 64), regex(pattern = LINE))]
        name: String,
    },
    /// A new checklist, with its first items.
    CreateChecklist {
        /// The task that it belongs to.
        task_id: Text<RecordId>,
        /// One line.
        #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
        title: String,
        /// The items, in order.
        #[serde(default)]
        #[schemars(length(max = 200), inner(length(min = 1, max = 200), regex(pattern = LINE)))]
        items: Vec<String>,
    },
    /// More items, after those that are there.
    AddItems {
        /// Where.
        checklist_id: Text<RecordId>,
        /// The items, in order.
        #[schemars(length(min = 1, max = 200), inner(length(min = 1, max = 200), regex(pattern = LINE)))]
        items: Vec<String>,
    },
    /// Other words for an item, or another state. What is left out stays.
    UpdateItem {
        /// Which item.
        item_id: Text<RecordId>,
        /// Its new line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
        text: Option<String>,
        /// Whether it is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<bool>,
    },
    /// Another order of the items.
    OrderItems {
        /// Where.
        checklist_id: Text<RecordId>,
        /// The ids of all items, each once.
        #[schemars(length(max = 200))]
        items: Vec<Text<RecordId>>,
    },
    /// A timer of a task starts.
    StartTime {
        /// Which task.
        task_id: Text<RecordId>,
        /// What is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        description: Option<String>,
    },
    /// It stops.
    StopTime {
        /// Which time entry.
        time_entry_id: Text<RecordId>,
    },
    /// Time that was spent before.
    AddTime {
        /// On which task.
        task_id: Text<RecordId>,
        /// Since when.
        started_at: Text<Millis>,
        /// Until when.
        ended_at: Text<Millis>,
        /// What was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        description: Option<String>,
    },
    /// Other words or other times. What is left out stays.
    UpdateTime {
        /// Which time entry.
        time_entry_id: Text<RecordId>,
        /// Since when.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Text<Millis>>,
        /// Until when.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_at: Option<Text<Millis>>,
        /// What was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        description: Option<String>,
    },
    /// The plan of a day, made where there is none, with its blocks, all in one transaction.
    WriteDayPlan {
        /// Which day.
        date: Text<CalendarDay>,
        /// What the day is for; left out stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        note: Option<String>,
        /// Blocks that are new or different.
        #[serde(default)]
        #[schemars(length(max = 96))]
        upserts: Vec<DayPlanBlockWrite>,
        /// The ids of blocks that go.
        #[serde(default)]
        #[schemars(length(max = 96))]
        deletes: Vec<Text<RecordId>>,
    },
    /// How good a record or a day was. What was said before on the same scale is replaced.
    #[schemars(extend("oneOf" = [
        { "required": ["record_id"], "properties": { "record_id": { "type": "string" }, "date": { "type": "null" } } },
        { "required": ["date"], "properties": { "record_id": { "type": "null" }, "date": { "type": "string" } } },
    ]))]
    Rate {
        /// The record, unless it is a day.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record_id: Option<Text<RecordId>>,
        /// The day, unless it is a record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        date: Option<Text<CalendarDay>>,
        /// The name of the scale.
        #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,31}$"))]
        scale: String,
        /// From 1 to `most`.
        #[serde(deserialize_with = "whole_number")]
        #[schemars(range(min = 1, max = 100))]
        value: u32,
        /// The upper end of the scale; 5 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
        #[schemars(range(min = 2, max = 100))]
        scale_max: Option<u32>,
        /// More about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        note: Option<String>,
    },
    /// What one record has to do with another.
    CreateLink {
        /// The record that says it.
        from_id: Text<RecordId>,
        /// The record that it is said of.
        to_id: Text<RecordId>,
        /// `relates_to`, `blocks`, `follows`, `part_of`, `derived_from`, `duplicates`, or `namespace:name`.
        #[schemars(length(max = 64), regex(pattern = LINK_KIND))]
        link_kind: String,
    },
    /// A record goes; its tombstone stays.
    Remove {
        /// Which record.
        record_id: Text<RecordId>,
        /// The category that takes what is in this one; one that is used does not go without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        move_to: Option<Text<RecordId>>,
    },
    /// A record that was deleted comes back.
    Restore {
        /// Which record.
        record_id: Text<RecordId>,
    },
}

/// A write that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteJournal {
    /// What is to be written, in one transaction.
    pub write: JournalWrite,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// One record that a committed transaction wrote. Those of one transaction have the same `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalChange {
    /// Its place among everything that was committed.
    pub seq: u64,
    /// The host that wrote it, with its incarnation.
    pub host: String,
    /// Which transaction of that host.
    pub counter: u64,
    /// What kind of record.
    pub kind: JournalChangeKind,
    /// Which one.
    pub record_id: String,
    /// The keys of what it says to the outside.
    pub tokens: Vec<String>,
    /// `person`, or `agent:` and a name.
    pub author: String,
    /// The operation that it was known by.
    pub operation_id: String,
    /// When.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// What was committed, oldest first, in whole transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalChangeList {
    /// The changes.
    pub changes: Vec<JournalChange>,
    /// The newest place there is.
    pub last_seq: u64,
}
