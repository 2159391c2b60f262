//! Everything that can be asked for.

use serde::{Deserialize, Serialize};

use super::day::CalendarDay;
use super::id::RecordId;
use super::label::LinkKind;
use super::record::{RatingTarget, TaskStatus};
use crate::json::{NotCanonical, digest};
use crate::key::Digest;
use crate::time::Millis;

/// What a block of a day is to be from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayPlanBlockWrite {
    /// Which one; none makes a new one.
    pub block: Option<RecordId>,
    /// From when.
    pub starts_at: Millis,
    /// Until when.
    pub ends_at: Millis,
    /// What is to be done then.
    pub task: Option<RecordId>,
    /// The part of a life that it is for.
    pub category: Option<RecordId>,
    /// More about it; may be empty.
    pub note: String,
}

/// What somebody wants written. Everything that can be written to the journal is one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mutation {
    /// A new category.
    CreateCategory {
        /// Its name for people.
        name: String,
    },
    /// Another name for a category.
    RenameCategory {
        /// Which category.
        category: RecordId,
        /// Its new name for people.
        name: String,
    },
    /// A new task.
    CreateTask {
        /// One line.
        title: String,
        /// More about it; may be empty.
        details: String,
        /// What it belongs to.
        category: Option<RecordId>,
    },
    /// Other words or another state for a task. What is absent stays.
    UpdateTask {
        /// Which task.
        task: RecordId,
        /// Its new line.
        title: Option<String>,
        /// Its new details.
        details: Option<String>,
        /// Its new state.
        status: Option<TaskStatus>,
        /// What it belongs to from now on.
        category: Option<RecordId>,
    },
    /// A new note.
    CreateNote {
        /// What it says.
        text: String,
        /// The task it is about.
        task: Option<RecordId>,
    },
    /// A new checklist, with its first items.
    CreateChecklist {
        /// The task that it belongs to.
        task: RecordId,
        /// One line.
        title: String,
        /// The items, in order.
        items: Vec<String>,
    },
    /// More items, after those that are there.
    AddItems {
        /// Where.
        checklist: RecordId,
        /// The items, in order.
        items: Vec<String>,
    },
    /// Other words for an item, or another state. What is absent stays.
    UpdateItem {
        /// Which item.
        item: RecordId,
        /// Its new line.
        text: Option<String>,
        /// Whether it is done.
        checked: Option<bool>,
    },
    /// Another order of the items.
    OrderItems {
        /// Where.
        checklist: RecordId,
        /// Every item that is there, once.
        items: Vec<RecordId>,
    },
    /// Somebody begins to spend time on a task.
    StartTime {
        /// Which task.
        task: RecordId,
        /// What is done; may be empty.
        description: String,
    },
    /// They end.
    StopTime {
        /// Which entry.
        entry: RecordId,
    },
    /// Time that was spent before.
    AddTime {
        /// On which task.
        task: RecordId,
        /// Since when.
        started_at: Millis,
        /// Until when.
        ended_at: Millis,
        /// What was done; may be empty.
        description: String,
    },
    /// Other words or other times. What is absent stays.
    UpdateTime {
        /// Which entry.
        entry: RecordId,
        /// Since when.
        started_at: Option<Millis>,
        /// Until when; an entry that runs has ended with it.
        ended_at: Option<Millis>,
        /// What was done.
        description: Option<String>,
    },
    /// The plan of a day: made where there is none, with its blocks, all in one transaction.
    WriteDayPlan {
        /// Which day.
        day: CalendarDay,
        /// What the day is for; absent stays.
        note: Option<String>,
        /// Blocks that are new or different.
        upserts: Vec<DayPlanBlockWrite>,
        /// Blocks that go.
        deletes: Vec<RecordId>,
    },
    /// How good something was. What was said before on the same scale is replaced.
    Rate {
        /// What is rated.
        target: RatingTarget,
        /// The name of the scale.
        scale: String,
        /// From 1 to `most`.
        value: u32,
        /// The upper end of the scale.
        most: u32,
        /// More about it; may be empty.
        note: String,
    },
    /// What one record has to do with another.
    CreateLink {
        /// The record that says it.
        from: RecordId,
        /// The record that it is said of.
        to: RecordId,
        /// What they have to do with each other.
        link: LinkKind,
    },
    /// A record goes; its tombstone stays.
    Remove {
        /// Which record.
        record: RecordId,
        /// Where to put what is in a category; one that is used is not taken away without it.
        move_to: Option<RecordId>,
    },
    /// A record that was taken away comes back.
    Restore {
        /// Which record.
        record: RecordId,
    },
}

/// Records that have to be read besides those that are named: present ones, and so many that a bound can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelatedRecords {
    /// The items of a checklist, in order.
    Items(RecordId),
    /// The blocks of a planned day.
    Blocks(RecordId),
    /// What is in a category: tasks, and blocks of days.
    InCategory(RecordId),
}

/// What has to be read before a mutation can be decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// These records, tombstones among them.
    pub records: Vec<RecordId>,
    /// And these.
    pub members: Option<RelatedRecords>,
}

impl Mutation {
    /// What tells two mutations apart: an operation id may be used again only for the same one.
    pub fn digest(&self) -> Result<Digest, NotCanonical> {
        digest(self)
    }

    /// What has to be read before it can be decided.
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
