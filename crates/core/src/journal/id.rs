//! Record ids and the kinds of records.

use serde::{Deserialize, Serialize};

use super::WriteError;
use super::day::CalendarDay;
use super::label::LinkKind;
use super::record::RatingTarget;
use crate::key::{Digest, OperationId, derived_hash};

/// Hex digits in a record id: 128 bits, so that collisions do not occur.
pub const RECORD_ID_DIGITS: usize = 32;

string_enum! {
    /// The kinds of records. Agents' internal data has no kind here.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "RecordKind")]
    pub enum RecordKind {
        /// An area of life that tasks belong to.
        Category = "category",
        /// Something to do.
        Task = "task",
        /// Something written down.
        Note = "note",
        /// A list of the parts of a task.
        Checklist = "checklist",
        /// An item of a checklist.
        ChecklistItem = "checklist_item",
        /// Time spent on a task.
        TimeEntry = "time_entry",
        /// The plan for a day.
        DayPlan = "day_plan",
        /// A block of a planned day.
        DayPlanBlock = "day_plan_block",
        /// A rating of a record or a day.
        Rating = "rating",
        /// A relation between two records.
        Link = "link",
    }
}

impl RecordKind {
    /// The semantic key of this kind in subscriptions. A part has the key of its whole.
    #[must_use]
    pub const fn semantic_key(self) -> &'static str {
        match self {
            Self::Category => "CATEGORY",
            Self::Task => "TASK",
            Self::Note => "NOTE",
            Self::Checklist | Self::ChecklistItem => "CHECKLIST",
            Self::TimeEntry => "TIME_ENTRY",
            Self::DayPlan | Self::DayPlanBlock => "DAY_PLAN",
            Self::Rating => "RATING",
            Self::Link => "LINK",
        }
    }

    /// The hash label of its derived ids.
    const fn label(self) -> &'static str {
        match self {
            Self::Category => "journal.category",
            Self::Task => "journal.task",
            Self::Note => "journal.note",
            Self::Checklist => "journal.checklist",
            Self::ChecklistItem => "journal.checklist_item",
            Self::TimeEntry => "journal.time_entry",
            Self::DayPlan => "journal.day_plan",
            Self::DayPlanBlock => "journal.day_plan_block",
            Self::Rating => "journal.rating",
            Self::Link => "journal.link",
        }
    }
}

/// The id of a record. It is derived from the operation that creates the record, so that a repeated
/// operation creates the same record; unique records derive it from what makes them unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(String);

impl RecordId {
    /// The record that an operation creates.
    #[must_use]
    pub fn derived(kind: RecordKind, operation: &OperationId) -> Self {
        Self::named(kind, &[&operation.to_string()])
    }

    /// One of several records of a kind that an operation creates.
    pub(super) fn part(kind: RecordKind, operation: &OperationId, number: usize) -> Self {
        Self::named(kind, &[&operation.to_string(), &number.to_string()])
    }

    /// The only plan of a day.
    #[must_use]
    pub fn of_day_plan(day: &CalendarDay) -> Self {
        Self::named(RecordKind::DayPlan, &[&day.to_string()])
    }

    /// The only rating of a target on a scale.
    #[must_use]
    pub fn of_rating(target: &RatingTarget, scale: &str) -> Self {
        match target {
            RatingTarget::Record(id) => Self::named(RecordKind::Rating, &["record", id.as_str(), scale]),
            RatingTarget::Day(day) => Self::named(RecordKind::Rating, &["day", &day.to_string(), scale]),
        }
    }

    /// The only link of a kind from one record to another.
    #[must_use]
    pub fn of_link(kind: &LinkKind, from: &Self, to: &Self) -> Self {
        Self::named(RecordKind::Link, &[kind.as_str(), from.as_str(), to.as_str()])
    }

    /// The record of a source's entry, unique by its name. The exact bytes of the name are hashed.
    pub(crate) fn of_source_entry(label: &str, source: &str, name: &[u8]) -> Self {
        let digest = derived_hash(label, &[source, &Digest::of(name).to_string()]).to_string();
        Self(digest.chars().take(RECORD_ID_DIGITS).collect())
    }

    fn named(kind: RecordKind, parts: &[&str]) -> Self {
        let digest = derived_hash(kind.label(), parts).to_string();
        Self(digest.chars().take(RECORD_ID_DIGITS).collect())
    }

    /// Parses a record id.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, WriteError> {
        let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        if text.len() == RECORD_ID_DIGITS && text.bytes().all(is_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(WriteError::BadId { field })
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
