//! The record types of the journal. Agents' internal data has none.

use serde::{Deserialize, Serialize};

use super::day::CalendarDay;
use super::id::{RecordId, RecordKind};
use super::label::LinkKind;
use crate::time::Millis;

string_enum! {
    /// The status of a task. Any status may follow any other.
    pub enum TaskStatus {
        /// Not started.
        Open = "open",
        /// Started.
        InProgress = "in_progress",
        /// Completed.
        Done = "done",
        /// It will not be done.
        Dropped = "dropped",
    }
}

/// An area of life that tasks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    pub id: RecordId,
    /// Unique among categories.
    pub name: String,
    pub created_at: Millis,
    /// The number of writes.
    pub version: u64,
    /// When it was deleted; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: RecordId,
    pub category: Option<RecordId>,
    /// One line.
    pub title: String,
    /// May be empty.
    pub details: String,
    pub status: TaskStatus,
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
    /// The number of writes.
    pub version: u64,
    /// When it was deleted; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// Something written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub id: RecordId,
    /// The task that the note is about.
    pub task: Option<RecordId>,
    pub text: String,
    pub created_at: Millis,
    /// The number of writes.
    pub version: u64,
    /// When it was deleted; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// The fields common to all records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordMeta {
    pub created_at: Millis,
    /// The number of writes.
    pub version: u64,
    /// When it was deleted; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

impl RecordMeta {
    /// The metadata of a record created at `at`.
    pub(super) const fn begun(at: Millis) -> Self {
        Self {
            created_at: at,
            version: 1,
            removed_at: None,
        }
    }

    /// The metadata after another write, not deleted.
    pub(super) const fn next(self) -> Self {
        Self {
            version: self.version.saturating_add(1),
            removed_at: None,
            ..self
        }
    }
}

/// A list of the parts of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checklist {
    pub id: RecordId,
    pub task: RecordId,
    /// One line.
    pub title: String,
    pub life: RecordMeta,
}

/// One item of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecklistItem {
    pub id: RecordId,
    pub checklist: RecordId,
    /// One line.
    pub text: String,
    pub checked: bool,
    /// The position in the checklist, from 1.
    pub position: u32,
    pub life: RecordMeta,
}

/// Time spent on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeEntry {
    pub id: RecordId,
    pub task: RecordId,
    pub started_at: Millis,
    /// `None` while it is running.
    pub ended_at: Option<Millis>,
    /// May be empty.
    pub description: String,
    pub life: RecordMeta,
}

/// The plan for a day. There is one per day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayPlan {
    pub id: RecordId,
    pub day: CalendarDay,
    /// The purpose of the day; may be empty.
    pub note: String,
    pub life: RecordMeta,
}

/// A block of a planned day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayPlanBlock {
    pub id: RecordId,
    pub plan: RecordId,
    pub starts_at: Millis,
    pub ends_at: Millis,
    /// The planned task.
    pub task: Option<RecordId>,
    /// The planned category.
    pub category: Option<RecordId>,
    /// May be empty.
    pub note: String,
    pub life: RecordMeta,
}

/// The rated record or day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RatingTarget {
    Record(RecordId),
    Day(CalendarDay),
}

/// A rating. There is one per target and scale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    pub id: RecordId,
    pub target: RatingTarget,
    /// The name of the scale, such as `energy`.
    pub scale: String,
    /// From 1 to [`Rating::most`].
    pub value: u32,
    /// The upper end of the scale.
    pub most: u32,
    /// May be empty.
    pub note: String,
    pub life: RecordMeta,
}

/// A relation between two records. There is one per kind and pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub id: RecordId,
    pub from: RecordId,
    pub to: RecordId,
    pub kind: LinkKind,
    pub life: RecordMeta,
}

/// A record of the journal. Agents' internal data has no variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    Category(Category),
    Task(Task),
    Note(Note),
    Checklist(Checklist),
    ChecklistItem(ChecklistItem),
    TimeEntry(TimeEntry),
    DayPlan(DayPlan),
    DayPlanBlock(DayPlanBlock),
    Rating(Rating),
    Link(Link),
}

impl Record {
    #[must_use]
    pub const fn kind(&self) -> RecordKind {
        match self {
            Self::Category(_) => RecordKind::Category,
            Self::Task(_) => RecordKind::Task,
            Self::Note(_) => RecordKind::Note,
            Self::Checklist(_) => RecordKind::Checklist,
            Self::ChecklistItem(_) => RecordKind::ChecklistItem,
            Self::TimeEntry(_) => RecordKind::TimeEntry,
            Self::DayPlan(_) => RecordKind::DayPlan,
            Self::DayPlanBlock(_) => RecordKind::DayPlanBlock,
            Self::Rating(_) => RecordKind::Rating,
            Self::Link(_) => RecordKind::Link,
        }
    }

    #[must_use]
    pub const fn id(&self) -> &RecordId {
        match self {
            Self::Category(category) => &category.id,
            Self::Task(task) => &task.id,
            Self::Note(note) => &note.id,
            Self::Checklist(checklist) => &checklist.id,
            Self::ChecklistItem(item) => &item.id,
            Self::TimeEntry(entry) => &entry.id,
            Self::DayPlan(plan) => &plan.id,
            Self::DayPlanBlock(block) => &block.id,
            Self::Rating(rating) => &rating.id,
            Self::Link(link) => &link.id,
        }
    }

    /// The creation time, version and deletion time.
    #[must_use]
    pub const fn life(&self) -> RecordMeta {
        let (created_at, version, removed_at) = match self {
            Self::Category(category) => (category.created_at, category.version, category.removed_at),
            Self::Task(task) => (task.created_at, task.version, task.removed_at),
            Self::Note(note) => (note.created_at, note.version, note.removed_at),
            Self::Checklist(Checklist { life, .. })
            | Self::ChecklistItem(ChecklistItem { life, .. })
            | Self::TimeEntry(TimeEntry { life, .. })
            | Self::DayPlan(DayPlan { life, .. })
            | Self::DayPlanBlock(DayPlanBlock { life, .. })
            | Self::Rating(Rating { life, .. })
            | Self::Link(Link { life, .. }) => return *life,
        };
        RecordMeta {
            created_at,
            version,
            removed_at,
        }
    }

    /// The number of writes.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.life().version
    }

    /// Whether it is a tombstone.
    #[must_use]
    pub const fn is_removed(&self) -> bool {
        self.life().removed_at.is_some()
    }

    /// Returns the record with another version, write time and deletion time.
    pub(super) fn written(mut self, version: u64, at: Millis, removed_at: Option<Millis>) -> Self {
        match &mut self {
            Self::Category(category) => {
                category.version = version;
                category.removed_at = removed_at;
            }
            Self::Task(task) => {
                task.version = version;
                task.removed_at = removed_at;
                task.updated_at = at;
            }
            Self::Note(note) => {
                note.version = version;
                note.removed_at = removed_at;
            }
            Self::Checklist(Checklist { life, .. })
            | Self::ChecklistItem(ChecklistItem { life, .. })
            | Self::TimeEntry(TimeEntry { life, .. })
            | Self::DayPlan(DayPlan { life, .. })
            | Self::DayPlanBlock(DayPlanBlock { life, .. })
            | Self::Rating(Rating { life, .. })
            | Self::Link(Link { life, .. }) => {
                life.version = version;
                life.removed_at = removed_at;
            }
        }
        self
    }

    /// The records that it belongs to or refers to, nearest first.
    #[must_use]
    pub fn owners(&self) -> Vec<&RecordId> {
        match self {
            Self::Category(_) | Self::DayPlan(_) => Vec::new(),
            Self::Task(task) => task.category.iter().collect(),
            Self::Note(note) => note.task.iter().collect(),
            Self::Checklist(checklist) => vec![&checklist.task],
            Self::ChecklistItem(item) => vec![&item.checklist],
            Self::TimeEntry(entry) => vec![&entry.task],
            Self::DayPlanBlock(block) => {
                let named = [Some(&block.plan), block.category.as_ref(), block.task.as_ref()];
                named.into_iter().flatten().collect()
            }
            Self::Rating(rating) => match &rating.target {
                RatingTarget::Record(id) => vec![id],
                RatingTarget::Day(_) => Vec::new(),
            },
            Self::Link(link) => vec![&link.from, &link.to],
        }
    }
}
