//! Errors of journal writes, with a hint for the caller.

use crate::problem::Problem;
use crate::step::ToolError;

/// Why a write is rejected. Nothing was written, and a retry is rejected again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("{field} is empty")]
    Empty { field: &'static str },
    #[error("{field} is too long: {found}, at most {most} {unit}")]
    TooLong {
        field: &'static str,
        found: usize,
        most: usize,
        /// Characters or bytes.
        unit: &'static str,
    },
    /// A text has control characters that cannot be stored or shown.
    #[error("{field} has control characters")]
    Control { field: &'static str },
    /// A text is not a record id.
    #[error("{field} is not an id: ids are 32 lower-case hex digits")]
    BadId { field: &'static str },
    /// A text is not a task status.
    #[error("status must be one of open, in_progress, done, dropped")]
    BadStatus,
    /// An update contains no changes.
    #[error("the update changes nothing: give a title, details, a status or a category")]
    NothingToChange,
    /// The task does not exist or was deleted.
    #[error("there is no task {0}")]
    UnknownTask(String),
    /// The category does not exist or was deleted.
    #[error("there is no category {0}")]
    UnknownCategory(String),
    /// A record of this kind never existed.
    #[error("there is no {kind} {id}")]
    UnknownRecord { kind: &'static str, id: String },
    /// The record was deleted; neither a tombstone nor its parts can be written.
    #[error("{kind} {id} was deleted")]
    Removed { kind: &'static str, id: String },
    /// The record cannot be restored, because it was not deleted.
    #[error("{kind} {id} was not deleted")]
    NotRemoved { kind: &'static str, id: String },
    /// The name is already used.
    #[error("category {0:?} already exists")]
    CategoryExists(String),
    /// A category with records cannot be deleted without moving them.
    #[error("category {name:?} is used by {uses} records")]
    CategoryInUse {
        name: String,
        /// The number of records in it.
        uses: usize,
    },
    /// A count exceeds its limit.
    #[error("{field}: {found}, at most {most}")]
    TooMany {
        field: &'static str,
        found: usize,
        most: usize,
    },
    /// A text is not a day.
    #[error("date must be a day such as 2026-11-15")]
    BadDay,
    /// A text is not a time.
    #[error("{field} must be a time such as 2026-11-15T09:30:00+01:00")]
    BadTime { field: &'static str },
    /// The end is before the start.
    #[error("{field} is before the start")]
    EndsBeforeStart { field: &'static str },
    /// A block is not on the day of its plan.
    #[error("{field} is not on {day} in any time zone")]
    NotOnDay {
        /// The start or the end.
        field: &'static str,
        day: String,
    },
    /// Another time entry of the task is running.
    #[error("time entry {0} of this task is running")]
    TimeEntryRunning(String),
    /// The time entry is already stopped.
    #[error("time entry {0} is not running")]
    TimeEntryStopped(String),
    /// A new order omits an item, repeats one, or contains one of another checklist.
    #[error("items must name every item of the checklist once")]
    BadOrder,
    /// A text is not a scale name.
    #[error("scale must be a word of lower-case letters, digits and underscores, at most 32")]
    BadScale,
    /// A rating is outside its scale, or the scale is outside the allowed range.
    #[error("{field} must be from {least} to {most}")]
    OutOfRange {
        field: &'static str,
        least: u32,
        most: u32,
    },
    /// A text is not a kind of link.
    #[error(
        "kind must be one of relates_to, blocks, follows, part_of, derived_from, duplicates, or a namespaced word such \
         as gym:superset_of"
    )]
    BadLinkKind,
    /// Both ends of a link are the same record.
    #[error("a record cannot be linked to itself")]
    LinkToSelf,
    /// The link already exists.
    #[error("this link already exists: {0}")]
    LinkExists(String),
    /// The operation id was used before for another write.
    #[error("this operation id was used before for another write")]
    OperationReused,
    /// The operation was undone, or cancelled before it was performed.
    #[error("this operation was undone")]
    OperationUndone,
    /// The record was written again since, so undoing would discard the later write.
    #[error("{kind} {id} was changed since")]
    ChangedSince { kind: &'static str, id: String },
}

impl WriteError {
    /// The stable error code.
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

    /// The invalid field.
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

    /// What the caller can do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "enter a text",
            Self::TooLong { .. } => "shorten it, or split it into several records",
            Self::Control { .. } => "remove line breaks and control characters",
            Self::BadId { .. } => "copy the full id from a list",
            Self::BadStatus => "use one of the four values",
            Self::NothingToChange => "omit the call, or give a field to change",
            Self::UnknownTask(_) => "`wakeful journal task list` shows the tasks",
            Self::UnknownCategory(_) => "`wakeful journal category list` shows the categories",
            Self::UnknownRecord { .. } => "copy the full id from a list",
            Self::Removed { .. } => "`wakeful journal restore` with its id restores it",
            Self::NotRemoved { .. } => "there is nothing to restore",
            Self::CategoryExists(_) => "use it, or choose another name",
            Self::CategoryInUse { .. } => {
                "name another category for them: `wakeful journal category delete NAME --move-to OTHER`"
            }
            Self::TooMany { .. } => "use fewer, or split them up",
            Self::BadDay => "give year, month and day",
            Self::BadTime { .. } => "give RFC 3339 with an offset, or Z",
            Self::EndsBeforeStart { .. } => "give an end after the start",
            Self::NotOnDay { .. } => "give times of that day, or the day of those times",
            Self::TimeEntryRunning(_) => "`wakeful journal time stop` ends it",
            Self::TimeEntryStopped(_) => "`wakeful journal time list` shows running entries",
            Self::BadOrder => "list the checklist, and give all its items in the new order",
            Self::BadScale => "use a word such as energy",
            Self::OutOfRange { .. } => "give a number within the scale",
            Self::BadLinkKind => "use one of these words, or namespace:name",
            Self::LinkToSelf => "name two records",
            Self::LinkExists(_) => "use it, or choose another kind",
            Self::OperationReused => "use a new key",
            Self::OperationUndone => "request it again as a new action",
            Self::ChangedSince { .. } => {
                "check the record; keep it with `wakeful saga resolve`, or first write it as it should be"
            }
        }
    }

    /// Whether a code is one of these: then nothing was written.
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

    /// Converts it to a tool error for a model.
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
    fn every_write_error_has_a_known_code() {
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
        assert!(
            !WriteError::is_code("journal_unavailable"),
            "the outcome is unknown then"
        );
    }
}
