//! Endpoints and types for journal records of every kind, writes to them, and the committed changes.

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
    /// Lists the records of a kind.
    ListRecords = Get "/api/journal/records" -> JournalRecordList {
        200 "The records",
        404 "The record that `related_id` requires for this kind is not given",
    }
    /// Retrieves a record of any kind, including deleted records.
    GetRecord { record_id: Text<RecordId> } = Get "/api/journal/records/{record_id}" -> JournalRecord { 200 "The record" }
    /// Writes to the journal. All records of one write are committed in one transaction.
    WriteJournal = Post "/api/journal/writes" -> WriteReceipt { 200 "The write is committed", 404 "The record does not exist" }
    /// Lists the committed changes after a sequence number, oldest first.
    ListChanges {
        /// Return only changes after this sequence number.
        #[serde(default)]
        #[schemars(range(max = i64::MAX))]
        after_seq: u64,
        /// The maximum number of changes. The last transaction is always returned complete.
        #[serde(default)]
        limit: Limit
    } = Get "/api/journal/changes" -> JournalChangeList { 200 "The changes" }
}

/// Selects the records to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRecords {
    /// The kind of record.
    pub kind: RecordListKind,
    /// Return only records that belong to this record.
    pub related_id: Option<Text<RecordId>>,
    /// Return only records of this day.
    pub date: Option<Text<CalendarDay>>,
    /// Return only time entries that are running.
    #[serde(default)]
    pub running: bool,
    /// For the kind `any`: the first digits of the id.
    pub prefix: Option<Hex<1, 32>>,
    /// The maximum number of records.
    #[serde(default)]
    pub limit: Limit,
}

impl ListRecords {
    /// Selects all records of a kind.
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

/// A record of any kind, as one flat object. Predicates are evaluated on this object. The additional fields
/// depend on the kind; fields without a value are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalRecord {
    /// The kind of record.
    pub kind: RecordKind,
    /// The record's id: 32 hex digits.
    pub id: Text<RecordId>,
    /// The number of writes to the record.
    pub version: u64,
    /// When the record was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// Whether the record was deleted. A deleted record can be restored.
    pub removed: bool,
    /// The fields of the record's kind.
    #[serde(flatten)]
    pub fields: BTreeMap<String, Value>,
}

/// The kind of records to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordListKind {
    /// Checklists, newest first; `related_id` is a task.
    Checklist,
    /// The items of the checklist `related_id`, in order.
    ChecklistItem,
    /// Time entries, latest start first; `related_id` is a task.
    TimeEntry,
    /// Day plans, latest day first; `date` selects one.
    DayPlan,
    /// The blocks of the plan `related_id`, or of the plan for `date`, in order.
    DayPlanBlock,
    /// Ratings, newest first; `related_id` is a record, `date` a day.
    Rating,
    /// Links, newest first; `related_id` is a record at either end.
    Link,
    /// Records of any kind whose id begins with `prefix`, including deleted records.
    Any,
}

/// A list of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalRecordList {
    /// The records.
    pub records: Vec<JournalRecord>,
}

/// A block of a day plan to create or replace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DayPlanBlockWrite {
    /// The block to replace. If absent, a new block is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_id: Option<Text<RecordId>>,
    /// When the block starts.
    pub starts_at: Text<Millis>,
    /// When the block ends.
    pub ends_at: Text<Millis>,
    /// The task that is planned for the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Text<RecordId>>,
    /// The category that is planned for the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<Text<RecordId>>,
    /// A note about the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
    pub note: Option<String>,
}

/// One of the known link kinds, or a namespaced one.
const LINK_KIND: &str = concat!(
    r"^(relates_to|blocks|follows|part_of|derived_from|duplicates|",
    r"[a-z][a-z0-9_]*:[a-z][a-z0-9_]*)$"
);

/// A write to the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JournalWrite {
    /// Renames a category.
    RenameCategory {
        /// The category to rename.
        category_id: Text<RecordId>,
        /// The new name.
        #[schemars(length(min = 1, max = 64), regex(pattern = LINE))]
        name: String,
    },
    /// Creates a checklist with its first items.
    CreateChecklist {
        /// The task that the checklist belongs to.
        task_id: Text<RecordId>,
        /// The title, in one line.
        #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
        title: String,
        /// The items, in order.
        #[serde(default)]
        #[schemars(length(max = 200), inner(length(min = 1, max = 200), regex(pattern = LINE)))]
        items: Vec<String>,
    },
    /// Appends items to a checklist.
    AddItems {
        /// The checklist to append to.
        checklist_id: Text<RecordId>,
        /// The items, in order.
        #[schemars(length(min = 1, max = 200), inner(length(min = 1, max = 200), regex(pattern = LINE)))]
        items: Vec<String>,
    },
    /// Changes the text or the state of an item. Fields that are left out do not change.
    UpdateItem {
        /// The item to change.
        item_id: Text<RecordId>,
        /// The new text, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
        text: Option<String>,
        /// Whether the item is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<bool>,
    },
    /// Reorders the items of a checklist.
    OrderItems {
        /// The checklist to reorder.
        checklist_id: Text<RecordId>,
        /// The ids of all items in the new order, each once.
        #[schemars(length(max = 200))]
        items: Vec<Text<RecordId>>,
    },
    /// Starts a time entry for a task.
    StartTime {
        /// The task that the time is spent on.
        task_id: Text<RecordId>,
        /// A description of the work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        description: Option<String>,
    },
    /// Stops a running time entry.
    StopTime {
        /// The time entry to stop.
        time_entry_id: Text<RecordId>,
    },
    /// Adds a finished time entry.
    AddTime {
        /// The task that the time was spent on.
        task_id: Text<RecordId>,
        /// When the time entry started.
        started_at: Text<Millis>,
        /// When the time entry ended.
        ended_at: Text<Millis>,
        /// A description of the work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        description: Option<String>,
    },
    /// Changes the description or the times of a time entry. Fields that are left out do not change.
    UpdateTime {
        /// The time entry to change.
        time_entry_id: Text<RecordId>,
        /// When the time entry started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Text<Millis>>,
        /// When the time entry ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_at: Option<Text<Millis>>,
        /// A description of the work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        description: Option<String>,
    },
    /// Creates or changes the plan of a day with its blocks, in one transaction.
    WriteDayPlan {
        /// The day of the plan.
        date: Text<CalendarDay>,
        /// A note about the day. If absent, it does not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        note: Option<String>,
        /// The blocks to create or replace.
        #[serde(default)]
        #[schemars(length(max = 96))]
        upserts: Vec<DayPlanBlockWrite>,
        /// The ids of blocks to delete.
        #[serde(default)]
        #[schemars(length(max = 96))]
        deletes: Vec<Text<RecordId>>,
    },
    /// Rates a record or a day. An earlier rating on the same scale is replaced. Give either `record_id` or
    /// `date`.
    #[schemars(extend("oneOf" = [
        { "required": ["record_id"], "properties": { "record_id": { "type": "string" }, "date": { "type": "null" } } },
        { "required": ["date"], "properties": { "record_id": { "type": "null" }, "date": { "type": "string" } } },
    ]))]
    Rate {
        /// The record to rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record_id: Option<Text<RecordId>>,
        /// The day to rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        date: Option<Text<CalendarDay>>,
        /// The name of the scale.
        #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,31}$"))]
        scale: String,
        /// The rating, from 1 to `scale_max`.
        #[serde(deserialize_with = "whole_number")]
        #[schemars(range(min = 1, max = 100))]
        value: u32,
        /// The upper end of the scale. Defaults to 5.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
        #[schemars(range(min = 2, max = 100))]
        scale_max: Option<u32>,
        /// A note about the rating.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 4096), regex(pattern = NO_ZERO))]
        note: Option<String>,
    },
    /// Links one record to another.
    CreateLink {
        /// The record at which the link starts.
        from_id: Text<RecordId>,
        /// The record to which the link points.
        to_id: Text<RecordId>,
        /// The kind of link: `relates_to`, `blocks`, `follows`, `part_of`, `derived_from`, `duplicates`, or
        /// `namespace:name`.
        #[schemars(length(max = 64), regex(pattern = LINK_KIND))]
        link_kind: String,
    },
    /// Deletes a record. Its tombstone remains, so that it can be restored.
    Remove {
        /// The record to delete.
        record_id: Text<RecordId>,
        /// When deleting a category: the category that receives its tasks. Required if the category is in
        /// use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        move_to: Option<Text<RecordId>>,
    },
    /// Restores a deleted record.
    Restore {
        /// The record to restore.
        record_id: Text<RecordId>,
    },
}

/// A request to write to the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteJournal {
    /// The write, committed in one transaction.
    pub write: JournalWrite,
    /// The idempotency key: repeating a write with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// One record that a committed transaction wrote. Changes of one transaction have the same `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalChange {
    /// The sequence number of the transaction.
    pub seq: u64,
    /// The host that wrote the record, including its incarnation.
    pub host: String,
    /// The number of the transaction on that host.
    pub counter: u64,
    /// The kind of record.
    pub kind: JournalChangeKind,
    /// The id of the record.
    pub record_id: String,
    /// The tokens that subscriptions match.
    pub tokens: Vec<String>,
    /// The author of the change: `person`, or `agent:` followed by a name.
    pub author: String,
    /// The operation that made the change.
    pub operation_id: String,
    /// When the change was committed.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// A list of committed changes, in complete transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalChangeList {
    /// The changes, oldest first.
    pub changes: Vec<JournalChange>,
    /// The sequence number of the newest transaction.
    pub last_seq: u64,
}
