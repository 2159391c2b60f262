//! Why the journal does not take a write, in words whoever asked can act on.

use crate::problem::Problem;
use crate::step::ToolError;

/// Why a write is not taken. Nothing was written, and the same write is refused again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A text is empty that must say something.
    #[error("{field} is empty")]
    Empty {
        /// Which.
        field: &'static str,
    },
    /// A text is too long.
    #[error("{field} is too long: {found}, at most {most} {unit}")]
    TooLong {
        /// Which.
        field: &'static str,
        /// How long it is.
        found: usize,
        /// How long it may be.
        most: usize,
        /// Characters or bytes.
        unit: &'static str,
    },
    /// A text has characters that cannot be kept or shown on one line.
    #[error("{field} has control characters")]
    Control {
        /// Which.
        field: &'static str,
    },
    /// A name is no name of a record.
    #[error("{field} is no id: ids are 32 lower-case hex digits")]
    BadId {
        /// Which.
        field: &'static str,
    },
    /// A word is no state of a task.
    #[error("status must be one of open, in_progress, done, dropped")]
    BadStatus,
    /// An update says nothing.
    #[error("the update changes nothing: give a title, details, a status or a category")]
    NothingToChange,
    /// There is no such task, or it was taken away.
    #[error("there is no task {0}")]
    UnknownTask(String),
    /// There is no such category, or it was taken away.
    #[error("there is no category {0}")]
    UnknownCategory(String),
    /// There is no such record of this kind, and never was one.
    #[error("there is no {kind} {id}")]
    UnknownRecord {
        /// What kind.
        kind: &'static str,
        /// Which one.
        id: String,
    },
    /// The record was taken away: nothing is written to a tombstone, or to what belongs to one.
    #[error("{kind} {id} was deleted")]
    Removed {
        /// What kind.
        kind: &'static str,
        /// Which one.
        id: String,
    },
    /// It cannot come back, because it is there.
    #[error("{kind} {id} was not deleted")]
    NotRemoved {
        /// What kind.
        kind: &'static str,
        /// Which one.
        id: String,
    },
    /// The name is taken.
    #[error("there is a category {0:?} already")]
    CategoryExists(String),
    /// A category that something is in would leave it behind.
    #[error("category {name:?} is used by {uses} records")]
    CategoryInUse {
        /// Its name.
        name: String,
        /// How many.
        uses: usize,
    },
    /// There are more of something than may be.
    #[error("{field}: {found}, at most {most}")]
    TooMany {
        /// Of what.
        field: &'static str,
        /// How many there would be.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// A word is no day.
    #[error("date must be a day such as 2026-11-15")]
    BadDay,
    /// A word is no time.
    #[error("{field} must be a time such as 2026-11-15T09:30:00+01:00")]
    BadTime {
        /// Which.
        field: &'static str,
    },
    /// Something ends before it starts.
    #[error("{field} is before the start")]
    EndsBeforeStart {
        /// The end.
        field: &'static str,
    },
    /// A block of a day is not on that day.
    #[error("{field} is not on {day}, wherever one is")]
    NotOnDay {
        /// Its start or its end.
        field: &'static str,
        /// The day.
        day: String,
    },
    /// Time is being spent on the task already.
    #[error("time entry {0} of this task is running")]
    TimeEntryRunning(String),
    /// The time entry has ended.
    #[error("time entry {0} is not running")]
    TimeEntryStopped(String),
    /// A new order leaves out an item, or names one twice or of another list.
    #[error("items must name every item of the checklist once")]
    BadOrder,
    /// A word is no name of a scale.
    #[error("scale must be a word of lower-case letters, digits and underscores, at most 32")]
    BadScale,
    /// A rating lies outside its scale, or its scale outside ours.
    #[error("{field} must be from {least} to {most}")]
    OutOfRange {
        /// Which.
        field: &'static str,
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A word is no kind of link.
    #[error(
        "kind must be one of relates_to, blocks, follows, part_of, derived_from, duplicates, or a namespaced word such \
         as gym:superset_of"
    )]
    BadLinkKind,
    /// Both ends of a link are one record.
    #[error("a record cannot be linked to itself")]
    LinkToSelf,
    /// There is such a link.
    #[error("this link is there already: {0}")]
    LinkExists(String),
    /// The operation id was used before, for another write.
    #[error("this operation id was used before for another write")]
    OperationReused,
    /// The operation was undone, or called off before it was carried out.
    #[error("this operation was undone")]
    OperationUndone,
    /// Somebody wrote the record since, so that undoing would take away what they wrote.
    #[error("{kind} {id} was written again since")]
    ChangedSince {
        /// What kind of record.
        kind: &'static str,
        /// Which one.
        id: String,
    },
}

impl WriteError {
    /// The stable word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty { .. } | Self::TooLong { .. } | Self::Control { .. } | Self::NothingToChange => {
                "invalid_record"
            }
            Self::BadId { .. } => "bad_record_id",
            Self::BadStatus => "bad_task_status",
            Self::UnknownTask(_) => "task_unknown",
            Self::UnknownCategory(_) => "category_unknown",
            Self::UnknownRecord { .. } => "record_unknown",
            Self::Removed { .. } => "record_removed",
            Self::NotRemoved { .. } => "record_not_deleted",
            Self::CategoryExists(_) => "category_exists",
            Self::CategoryInUse { .. } => "category_in_use",
            Self::TooMany { .. } => "too_many",
            Self::BadDay => "bad_day",
            Self::BadTime { .. } => "bad_time",
            Self::EndsBeforeStart { .. } => "ends_before_start",
            Self::NotOnDay { .. } => "block_outside_day",
            Self::TimeEntryRunning(_) => "time_entry_running",
            Self::TimeEntryStopped(_) => "time_entry_stopped",
            Self::BadOrder => "bad_order",
            Self::BadScale | Self::OutOfRange { .. } => "bad_rating",
            Self::BadLinkKind => "bad_link_kind",
            Self::LinkToSelf => "link_to_self",
            Self::LinkExists(_) => "link_exists",
            Self::OperationReused => "operation_reused",
            Self::OperationUndone => "operation_undone",
            Self::ChangedSince { .. } => "record_changed",
        }
    }

    /// The field at fault.
    #[must_use]
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::Empty { field }
            | Self::TooLong { field, .. }
            | Self::Control { field }
            | Self::BadId { field }
            | Self::TooMany { field, .. }
            | Self::BadTime { field }
            | Self::EndsBeforeStart { field }
            | Self::NotOnDay { field, .. }
            | Self::OutOfRange { field, .. } => Some(field),
            Self::BadStatus => Some("status"),
            Self::UnknownTask(_) => Some("task_id"),
            Self::UnknownCategory(_) => Some("category_id"),
            Self::CategoryExists(_) => Some("name"),
            Self::UnknownRecord { .. } | Self::Removed { .. } | Self::NotRemoved { .. } => Some("record_id"),
            Self::CategoryInUse { .. } => Some("move_to"),
            Self::BadDay => Some("date"),
            Self::TimeEntryRunning(_) => Some("task_id"),
            Self::TimeEntryStopped(_) => Some("time_entry_id"),
            Self::BadOrder => Some("items"),
            Self::BadScale => Some("scale"),
            Self::BadLinkKind => Some("kind"),
            Self::LinkToSelf | Self::LinkExists(_) => Some("to_id"),
            Self::NothingToChange
            | Self::OperationReused
            | Self::OperationUndone
            | Self::ChangedSince { .. } => None,
        }
    }

    /// The way out.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "say something",
            Self::TooLong { .. } => "say it shorter, or in several records",
            Self::Control { .. } => "leave line breaks and control characters out",
            Self::BadId { .. } => "take the id from a list, whole",
            Self::BadStatus => "give one of the four words",
            Self::NothingToChange => "leave the call out, or say what is to change",
            Self::UnknownTask(_) => "`wakeful journal task list` shows the tasks there are",
            Self::UnknownCategory(_) => "`wakeful journal category list` shows the categories there are",
            Self::UnknownRecord { .. } => "take the id from a list, whole",
            Self::Removed { .. } => "`wakeful journal restore` with its id brings it back",
            Self::NotRemoved { .. } => "there is nothing to bring back",
            Self::CategoryExists(_) => "use it, or choose another name",
            Self::CategoryInUse { .. } => {
                "name another category for them: `wakeful journal category delete NAME --move-to OTHER`"
            }
            Self::TooMany { .. } => "take fewer, or split them up",
            Self::BadDay => "give year, month and day",
            Self::BadTime { .. } => "give RFC 3339 with an offset, or Z",
            Self::EndsBeforeStart { .. } => "give an end after the start",
            Self::NotOnDay { .. } => "give times of that day, or the day of those times",
            Self::TimeEntryRunning(_) => "`wakeful journal time stop` ends it",
            Self::TimeEntryStopped(_) => "`wakeful journal time list` shows what runs",
            Self::BadOrder => "list the checklist, and give its items in their new order",
            Self::BadScale => "give a word such as energy",
            Self::OutOfRange { .. } => "give a number within the scale",
            Self::BadLinkKind => "give one of these words, or namespace:name",
            Self::LinkToSelf => "name two records",
            Self::LinkExists(_) => "use it, or choose another kind",
            Self::OperationReused => "use a new key",
            Self::OperationUndone => "ask for it again, as a new action",
            Self::ChangedSince { .. } => {
                "look at the record; keep it with `wakeful saga resolve`, or write it as it should be first"
            }
        }
    }

    /// Whether a word is one of ours: then it is certain that nothing was written.
    #[must_use]
    pub fn is_code(code: &str) -> bool {
        const CODES: [&str; 25] = [
            "invalid_record",
            "bad_record_id",
            "bad_task_status",
            "task_unknown",
            "category_unknown",
            "record_unknown",
            "record_removed",
            "record_not_deleted",
            "category_exists",
            "category_in_use",
            "too_many",
            "bad_day",
            "bad_time",
            "ends_before_start",
            "block_outside_day",
            "time_entry_running",
            "time_entry_stopped",
            "bad_order",
            "bad_rating",
            "bad_link_kind",
            "link_to_self",
            "link_exists",
            "operation_reused",
            "operation_undone",
            "record_changed",
        ];
        CODES.contains(&code)
    }

    /// The same for a model.
    #[must_use]
    pub fn fault(&self) -> ToolError {
        let fault = ToolError::new(self.code(), &self.to_string(), self.hint());
        ToolError {
            field: self.field().map(str::to_owned),
            ..fault
        }
    }
}

impl From<&WriteError> for Problem {
    fn from(refusal: &WriteError) -> Self {
        Self::new(refusal.code(), refusal.to_string(), refusal.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_word_that_is_known_as_ours() {
        let all = [
            WriteError::Empty { field: "title" },
            WriteError::BadId { field: "task_id" },
            WriteError::BadStatus,
            WriteError::NothingToChange,
            WriteError::UnknownTask("x".into()),
            WriteError::UnknownCategory("x".into()),
            WriteError::UnknownRecord {
                kind: "note",
                id: "x".into(),
            },
            WriteError::Removed {
                kind: "note",
                id: "x".into(),
            },
            WriteError::NotRemoved {
                kind: "note",
                id: "x".into(),
            },
            WriteError::CategoryExists("x".into()),
            WriteError::CategoryInUse {
                name: "x".into(),
                uses: 2,
            },
            WriteError::TooMany {
                field: "items",
                found: 3,
                most: 2,
            },
            WriteError::BadDay,
            WriteError::BadTime { field: "started_at" },
            WriteError::EndsBeforeStart { field: "ended_at" },
            WriteError::NotOnDay {
                field: "starts_at",
                day: "2026-11-15".into(),
            },
            WriteError::TimeEntryRunning("x".into()),
            WriteError::TimeEntryStopped("x".into()),
            WriteError::BadOrder,
            WriteError::BadScale,
            WriteError::OutOfRange {
                field: "value",
                least: 1,
                most: 5,
            },
            WriteError::BadLinkKind,
            WriteError::LinkToSelf,
            WriteError::LinkExists("x".into()),
            WriteError::OperationReused,
            WriteError::OperationUndone,
            WriteError::ChangedSince {
                kind: "task",
                id: "x".into(),
            },
        ];
        for refusal in all {
            assert!(WriteError::is_code(refusal.code()), "{refusal}");
            assert!(!refusal.hint().is_empty(), "{refusal}");
        }
        assert!(!WriteError::is_code("journal_unavailable"), "nobody knows then");
    }
}
