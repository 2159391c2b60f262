//! The records themselves. There is none for anything that belongs to an agent.

use serde::{Deserialize, Serialize};

use super::day::CalendarDay;
use super::id::{RecordId, RecordKind};
use super::label::LinkKind;
use crate::time::Millis;

string_enum! {
    /// Where a task stands. Any state may follow any other: people change their minds.
    pub enum TaskStatus {
        /// Nobody has begun.
        Open = "open",
        /// Somebody has.
        InProgress = "in_progress",
        /// It is done.
        Done = "done",
        /// It will not be done.
        Dropped = "dropped",
    }
}

/// A part of a life that tasks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// Its name in the database.
    pub id: RecordId,
    /// Its name for people; no two have the same.
    pub name: String,
    /// When it was made.
    pub created_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its name.
    pub id: RecordId,
    /// What it belongs to.
    pub category: Option<RecordId>,
    /// One line.
    pub title: String,
    /// More about it; may be empty.
    pub details: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// Something written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its name.
    pub id: RecordId,
    /// The task it is about.
    pub task: Option<RecordId>,
    /// What it says.
    pub text: String,
    /// When it was made.
    pub created_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// What every record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordMeta {
    /// When it was made.
    pub created_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

impl RecordMeta {
    /// The first moment of a record.
    pub(super) const fn begun(at: Millis) -> Self {
        Self {
            created_at: at,
            version: 1,
            removed_at: None,
        }
    }

    /// Present, and one write older.
    pub(super) const fn next(self) -> Self {
        Self {
            version: self.version.saturating_add(1),
            removed_at: None,
            ..self
        }
    }
}

/// What a task takes, item by item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checklist {
    /// Its name.
    pub id: RecordId,
    /// The task that it belongs to.
    pub task: RecordId,
    /// One line.
    pub title: String,
    /// What every record has.
    pub life: RecordMeta,
}

/// One item of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecklistItem {
    /// Its name.
    pub id: RecordId,
    /// Where it stands.
    pub checklist: RecordId,
    /// One line.
    pub text: String,
    /// Whether it is done.
    pub checked: bool,
    /// Its place among the others, from 1 on.
    pub position: u32,
    /// What every record has.
    pub life: RecordMeta,
}

/// Time that was spent on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeEntry {
    /// Its name.
    pub id: RecordId,
    /// What it was spent on.
    pub task: RecordId,
    /// Since when.
    pub started_at: Millis,
    /// Until when; none while it runs.
    pub ended_at: Option<Millis>,
    /// What was done; may be empty.
    pub description: String,
    /// What every record has.
    pub life: RecordMeta,
}

/// What a day is for. There is one per day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayPlan {
    /// Its name.
    pub id: RecordId,
    /// Which day.
    pub day: CalendarDay,
    /// What the day is for, in words; may be empty.
    pub note: String,
    /// What every record has.
    pub life: RecordMeta,
}

/// A block of a planned day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayPlanBlock {
    /// Its name.
    pub id: RecordId,
    /// Where it stands.
    pub plan: RecordId,
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
    /// What every record has.
    pub life: RecordMeta,
}

/// What is rated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RatingTarget {
    /// A record.
    Record(RecordId),
    /// A day.
    Day(CalendarDay),
}

/// How good something was. There is one per target and scale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    /// Its name.
    pub id: RecordId,
    /// What is rated.
    pub target: RatingTarget,
    /// The name of the scale, such as `energy`.
    pub scale: String,
    /// From 1 to [`Rating::most`].
    pub value: u32,
    /// The upper end of the scale.
    pub most: u32,
    /// More about it; may be empty.
    pub note: String,
    /// What every record has.
    pub life: RecordMeta,
}

/// What one record has to do with another. There is one per kind and pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its name.
    pub id: RecordId,
    /// The record that says it.
    pub from: RecordId,
    /// The record that it is said of.
    pub to: RecordId,
    /// What they have to do with each other.
    pub kind: LinkKind,
    /// What every record has.
    pub life: RecordMeta,
}

/// One record. There is no variant for anything that belongs to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A category.
    Category(Category),
    /// A task.
    Task(Task),
    /// A note.
    Note(Note),
    /// A checklist.
    Checklist(Checklist),
    /// An item of a checklist.
    ChecklistItem(ChecklistItem),
    /// Time that was spent.
    TimeEntry(TimeEntry),
    /// The plan of a day.
    DayPlan(DayPlan),
    /// A block of a planned day.
    DayPlanBlock(DayPlanBlock),
    /// A rating.
    Rating(Rating),
    /// A link.
    Link(Link),
}

impl Record {
    /// What kind it is.
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

    /// Its name.
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

    /// When it was made, how often it was written, and whether it is there.
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

    /// How many writes it has seen.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.life().version
    }

    /// Whether only its tombstone is there.
    #[must_use]
    pub const fn is_removed(&self) -> bool {
        self.life().removed_at.is_some()
    }

    /// The same with another version, written at a moment, there or taken away.
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

    /// What it belongs to or speaks of, nearest first.
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
