//! Why the journal does not take a write, in words whoever asked can act on.

use crate::step::Fault;

/// Why a write is not taken. Nothing was written, and the same write is refused again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
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
    /// The name is taken.
    #[error("there is a category {0:?} already")]
    CategoryExists(String),
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

impl Refusal {
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
            Self::CategoryExists(_) => "category_exists",
            Self::OperationReused => "operation_reused",
            Self::OperationUndone => "operation_undone",
            Self::ChangedSince { .. } => "changed_since",
        }
    }

    /// The field at fault.
    #[must_use]
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::Empty { field }
            | Self::TooLong { field, .. }
            | Self::Control { field }
            | Self::BadId { field } => Some(field),
            Self::BadStatus => Some("status"),
            Self::UnknownTask(_) => Some("task_id"),
            Self::UnknownCategory(_) => Some("category_id"),
            Self::CategoryExists(_) => Some("name"),
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
            Self::CategoryExists(_) => "use it, or choose another name",
            Self::OperationReused => "use a new key",
            Self::OperationUndone => "ask for it again, as a new action",
            Self::ChangedSince { .. } => {
                "look at the record; keep it with `wakeful saga keep`, or write it as it should be first"
            }
        }
    }

    /// Whether a word is one of ours: then it is certain that nothing was written.
    #[must_use]
    pub fn is_code(code: &str) -> bool {
        const CODES: [&str; 9] = [
            "invalid_record",
            "bad_record_id",
            "bad_task_status",
            "task_unknown",
            "category_unknown",
            "category_exists",
            "operation_reused",
            "operation_undone",
            "changed_since",
        ];
        CODES.contains(&code)
    }

    /// The same for a model.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let fault = Fault::new(self.code(), &self.to_string(), self.hint());
        Fault {
            field: self.field().map(str::to_owned),
            ..fault
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_word_that_is_known_as_ours() {
        let all = [
            Refusal::Empty { field: "title" },
            Refusal::BadId { field: "task_id" },
            Refusal::BadStatus,
            Refusal::NothingToChange,
            Refusal::UnknownTask("x".into()),
            Refusal::UnknownCategory("x".into()),
            Refusal::CategoryExists("x".into()),
            Refusal::OperationReused,
            Refusal::OperationUndone,
            Refusal::ChangedSince {
                kind: "task",
                id: "x".into(),
            },
        ];
        for refusal in all {
            assert!(Refusal::is_code(refusal.code()), "{refusal}");
            assert!(!refusal.hint().is_empty(), "{refusal}");
        }
        assert!(!Refusal::is_code("journal_unavailable"), "nobody knows then");
    }
}
