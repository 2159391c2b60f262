//! All possible writes to the journal.

use serde::{Deserialize, Serialize};

use super::day::CalendarDay;
use super::id::RecordId;
use super::label::LinkKind;
use super::record::{RatingTarget, TaskStatus};
use crate::json::{NotCanonical, digest};
use crate::key::Digest;
use crate::time::Millis;

/// The new content of a block of a day plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayPlanBlockWrite {
    /// The block to change; `None` creates one.
    pub block: Option<RecordId>,
    pub starts_at: Millis,
    pub ends_at: Millis,
    /// The planned task.
    pub task: Option<RecordId>,
    /// The planned category.
    pub category: Option<RecordId>,
    /// May be empty.
    pub note: String,
}

/// A requested write. Every write to the journal is one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mutation {
    /// Creates a category.
    CreateCategory { name: String },
    /// Renames a category.
    RenameCategory { category: RecordId, name: String },
    /// Creates a task.
    CreateTask {
        /// One line.
        title: String,
        /// May be empty.
        details: String,
        category: Option<RecordId>,
    },
    /// Changes a task. Absent fields stay unchanged.
    UpdateTask {
        task: RecordId,
        title: Option<String>,
        details: Option<String>,
        status: Option<TaskStatus>,
        category: Option<RecordId>,
    },
    /// Creates a note.
    CreateNote {
        text: String,
        /// The task that the note is about.
        task: Option<RecordId>,
    },
    /// Creates a checklist with its first items.
    CreateChecklist {
        task: RecordId,
        /// One line.
        title: String,
        /// The items, in order.
        items: Vec<String>,
    },
    /// Appends items to a checklist.
    AddItems {
        checklist: RecordId,
        /// The items, in order.
        items: Vec<String>,
    },
    /// Changes an item. Absent fields stay unchanged.
    UpdateItem {
        item: RecordId,
        text: Option<String>,
        checked: Option<bool>,
    },
    /// Reorders the items of a checklist.
    OrderItems {
        checklist: RecordId,
        /// Every item of the checklist, once.
        items: Vec<RecordId>,
    },
    /// Starts a time entry for a task.
    StartTime {
        task: RecordId,
        /// May be empty.
        description: String,
    },
    /// Stops a time entry.
    StopTime { entry: RecordId },
    /// Adds a completed time entry.
    AddTime {
        task: RecordId,
        started_at: Millis,
        ended_at: Millis,
        /// May be empty.
        description: String,
    },
    /// Changes a time entry. Absent fields stay unchanged.
    UpdateTime {
        entry: RecordId,
        started_at: Option<Millis>,
        /// Stops the entry if it is running.
        ended_at: Option<Millis>,
        description: Option<String>,
    },
    /// Creates or changes the plan of a day and its blocks in one transaction.
    WriteDayPlan {
        day: CalendarDay,
        /// The purpose of the day; unchanged if absent.
        note: Option<String>,
        /// New and changed blocks.
        upserts: Vec<DayPlanBlockWrite>,
        /// Blocks to delete.
        deletes: Vec<RecordId>,
    },
    /// Rates a record or a day. Replaces an earlier rating on the same scale.
    Rate {
        target: RatingTarget,
        /// The name of the scale.
        scale: String,
        /// From 1 to `most`.
        value: u32,
        /// The upper end of the scale.
        most: u32,
        /// May be empty.
        note: String,
    },
    /// Links one record to another.
    CreateLink {
        from: RecordId,
        to: RecordId,
        /// The kind of the link.
        link: LinkKind,
    },
    /// Deletes a record; its tombstone stays.
    Remove {
        record: RecordId,
        /// The category that receives the records of a deleted category; required if there are any.
        move_to: Option<RecordId>,
    },
    /// Restores a deleted record.
    Restore { record: RecordId },
}

/// Records that a mutation needs in addition to those it names: existing ones, limited to as many as a
/// bound check needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelatedRecords {
    /// The items of a checklist, in order.
    Items(RecordId),
    /// The blocks of a day plan.
    Blocks(RecordId),
    /// The tasks and plan blocks of a category.
    InCategory(RecordId),
}

/// The records that a mutation needs to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// These records, including tombstones.
    pub records: Vec<RecordId>,
    /// Related records.
    pub members: Option<RelatedRecords>,
}

impl Mutation {
    /// Identifies the mutation: an operation id may be reused only with the same digest.
    pub fn digest(&self) -> Result<Digest, NotCanonical> {
        digest(self)
    }

    /// The records to read before the mutation can be applied.
    #[must_use]
    pub fn needs(&self) -> ReadRequest {
        let (records, members) = match self {
            Self::CreateCategory { .. } => (Vec::new(), None),
            Self::RenameCategory { category, .. } => (vec![category.clone()], None),
            Self::CreateTask { category, .. } => (category.iter().cloned().collect(), None),
            Self::UpdateTask { task, category, .. } => {
                (std::iter::once(task).chain(category).cloned().collect(), None)
            }
            Self::CreateNote { task, .. } => (task.iter().cloned().collect(), None),
            Self::CreateChecklist { task, .. }
            | Self::StartTime { task, .. }
            | Self::AddTime { task, .. } => (vec![task.clone()], None),
            Self::AddItems { checklist, .. } | Self::OrderItems { checklist, .. } => (
                vec![checklist.clone()],
                Some(RelatedRecords::Items(checklist.clone())),
            ),
            Self::UpdateItem { item, .. } => (vec![item.clone()], None),
            Self::StopTime { entry } | Self::UpdateTime { entry, .. } => (vec![entry.clone()], None),
            Self::WriteDayPlan {
                day,
                upserts,
                deletes,
                ..
            } => plan_needs(day, upserts, deletes),
            Self::Rate { target, scale, .. } => {
                let mut records = vec![RecordId::of_rating(target, scale)];
                if let RatingTarget::Record(id) = target {
                    records.push(id.clone());
                }
                (records, None)
            }
            Self::CreateLink { from, to, link } => (
                vec![RecordId::of_link(link, from, to), from.clone(), to.clone()],
                None,
            ),
            Self::Remove { record, move_to } => {
                let records = std::iter::once(record).chain(move_to).cloned().collect();
                (records, Some(RelatedRecords::InCategory(record.clone())))
            }
            Self::Restore { record } => (vec![record.clone()], None),
        };
        ReadRequest { records, members }
    }
}

fn plan_needs(
    day: &CalendarDay,
    upserts: &[DayPlanBlockWrite],
    deletes: &[RecordId],
) -> (Vec<RecordId>, Option<RelatedRecords>) {
    let plan = RecordId::of_day_plan(day);
    let named = |write: &DayPlanBlockWrite| [write.block.clone(), write.task.clone(), write.category.clone()];
    let mut records = vec![plan.clone()];
    records.extend(upserts.iter().flat_map(named).flatten());
    records.extend(deletes.iter().cloned());
    (records, Some(RelatedRecords::Blocks(plan)))
}
