//! The rest of what people wrote: records of every kind, writes to them, and what was committed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::journal::RecordKind;

/// A record of any kind: one flat object, and what a predicate sees. What it has besides these fields depends on its
/// kind; what it has not is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalRecord {
    /// What kind it is.
    pub kind: RecordKind,
    /// Its name: 32 hex digits.
    pub id: String,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Whether it was deleted; its tombstone can be restored.
    pub removed: bool,
    /// What its kind has.
    #[serde(flatten)]
    pub fields: BTreeMap<String, Value>,
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
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

impl Listed {
    /// The spelling on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checklist => "checklist",
            Self::ChecklistItem => "checklist_item",
            Self::TimeEntry => "time_entry",
            Self::DayPlan => "day_plan",
            Self::DayPlanBlock => "day_plan_block",
            Self::Rating => "rating",
            Self::Link => "link",
            Self::Any => "any",
        }
    }
}

/// Records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalRecordList {
    /// The records.
    pub records: Vec<JournalRecord>,
}

/// What a block of a day is to be from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockWrite {
    /// Which one; without it a new one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub block_id: Option<String>,
    /// From when: RFC 3339 with an offset.
    pub starts_at: String,
    /// Until when: RFC 3339 with an offset.
    pub ends_at: String,
    /// What is to be done then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub task_id: Option<String>,
    /// The part of a life that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub category_id: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub note: Option<String>,
}

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JournalWrite {
    /// Another name for a category.
    RenameCategory {
        /// Which category.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        category_id: String,
        /// Its new name.
        #[schema(min_length = 1, max_length = 64)]
        name: String,
    },
    /// A new checklist, with its first items.
    CreateChecklist {
        /// The task that it belongs to.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        task_id: String,
        /// One line.
        #[schema(min_length = 1, max_length = 200)]
        title: String,
        /// The items, in order.
        #[serde(default)]
        #[schema(max_items = 200)]
        items: Vec<String>,
    },
    /// More items, after those that are there.
    AddItems {
        /// Where.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        checklist_id: String,
        /// The items, in order.
        #[schema(min_items = 1, max_items = 200)]
        items: Vec<String>,
    },
    /// Other words for an item, or another state. What is left out stays.
    UpdateItem {
        /// Which item.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        item_id: String,
        /// Its new line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(min_length = 1, max_length = 200)]
        text: Option<String>,
        /// Whether it is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<bool>,
    },
    /// Another order of the items.
    OrderItems {
        /// Where.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        checklist_id: String,
        /// The ids of all items, each once.
        #[schema(max_items = 200)]
        items: Vec<String>,
    },
    /// A timer of a task starts.
    StartTime {
        /// Which task.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        task_id: String,
        /// What is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(max_length = 4096)]
        description: Option<String>,
    },
    /// It stops.
    StopTime {
        /// Which time entry.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        time_entry_id: String,
    },
    /// Time that was spent before.
    AddTime {
        /// On which task.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        task_id: String,
        /// Since when: RFC 3339 with an offset.
        started_at: String,
        /// Until when: RFC 3339 with an offset.
        ended_at: String,
        /// What was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(max_length = 4096)]
        description: Option<String>,
    },
    /// Other words or other times. What is left out stays.
    UpdateTime {
        /// Which time entry.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        time_entry_id: String,
        /// Since when: RFC 3339 with an offset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<String>,
        /// Until when: RFC 3339 with an offset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_at: Option<String>,
        /// What was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(max_length = 4096)]
        description: Option<String>,
    },
    /// The plan of a day, made where there is none, with its blocks, all in one transaction.
    WriteDayPlan {
        /// Which day.
        #[schema(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
        date: String,
        /// What the day is for; left out stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(max_length = 4096)]
        note: Option<String>,
        /// Blocks that are new or different.
        #[serde(default)]
        #[schema(max_items = 96)]
        upserts: Vec<BlockWrite>,
        /// The ids of blocks that go.
        #[serde(default)]
        #[schema(max_items = 96)]
        deletes: Vec<String>,
    },
    /// How good a record or a day was. What was said before on the same scale is replaced.
    Rate {
        /// The record, unless it is a day.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(pattern = "^[0-9a-f]{32}$")]
        record_id: Option<String>,
        /// The day, unless it is a record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
        date: Option<String>,
        /// The name of the scale.
        #[schema(pattern = "^[a-z][a-z0-9_]{0,31}$")]
        scale: String,
        /// From 1 to `most`.
        #[serde(deserialize_with = "whole_number")]
        #[schema(minimum = 1, maximum = 100)]
        value: u32,
        /// The upper end of the scale; 5 unless given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::message::whole"
        )]
        #[schema(minimum = 2, maximum = 100)]
        most: Option<u32>,
        /// More about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(max_length = 4096)]
        note: Option<String>,
    },
    /// What one record has to do with another.
    CreateLink {
        /// The record that says it.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        from_id: String,
        /// The record that it is said of.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        to_id: String,
        /// `relates_to`, `blocks`, `follows`, `part_of`, `derived_from`, `duplicates`, or `namespace:name`.
        #[schema(max_length = 64)]
        link_kind: String,
    },
    /// A record goes; its tombstone stays.
    Remove {
        /// Which record.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        record_id: String,
        /// The category that takes what is in this one; one that is used does not go without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(pattern = "^[0-9a-f]{32}$")]
        move_to: Option<String>,
    },
    /// A record that was deleted comes back.
    Restore {
        /// Which record.
        #[schema(pattern = "^[0-9a-f]{32}$")]
        record_id: String,
    },
}

fn whole_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = crate::message::whole(deserializer)?;
    number.ok_or_else(|| serde::de::Error::custom("a whole number is missing"))
}

/// A write that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalOrder {
    /// What is to be written, in one transaction.
    pub write: JournalWrite,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// One record that a committed transaction wrote. Those of one transaction have the same `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalChange {
    /// Its place among everything that was committed.
    pub seq: u64,
    /// The host that wrote it, with its incarnation.
    pub host: String,
    /// Which transaction of that host.
    pub counter: u64,
    /// What kind of record.
    pub kind: String,
    /// Which one.
    pub record_id: String,
    /// The keys of what it says to the outside.
    pub tokens: Vec<String>,
    /// `person`, or `agent:` and a name.
    pub author: String,
    /// The operation that it was known by.
    pub operation_id: String,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
}

/// What was committed, oldest first, in whole transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalChangeList {
    /// The changes.
    pub changes: Vec<JournalChange>,
    /// The newest place there is.
    pub last_seq: u64,
}
