//! What records are called, and the kinds of records there are.

use serde::{Deserialize, Serialize};

use super::WriteError;
use super::day::CalendarDay;
use super::label::LinkKind;
use super::record::RatingTarget;
use crate::key::{Digest, OperationId, derived_hash};

/// Hex digits in the name of a record: 128 bits, so that no two ever meet.
pub const RECORD_ID_DIGITS: usize = 32;

string_enum! {
    /// The kinds of records there are. There is none for anything that belongs to an agent.
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "RecordKind")]
    pub enum RecordKind {
        /// A part of a life that tasks belong to.
        Category = "category",
        /// Something to do.
        Task = "task",
        /// Something written down.
        Note = "note",
        /// What a task takes, item by item.
        Checklist = "checklist",
        /// One of its items.
        ChecklistItem = "checklist_item",
        /// Time that was spent on a task.
        TimeEntry = "time_entry",
        /// What a day is for.
        DayPlan = "day_plan",
        /// A block of a planned day.
        DayPlanBlock = "day_plan_block",
        /// How good something was.
        Rating = "rating",
        /// What one record has to do with another.
        Link = "link",
    }
}

impl RecordKind {
    /// The word by which subscriptions know this kind. A part is known by the word of its whole.
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

    /// What its name is derived under.
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

/// The name of a record. Derived from the operation that made it, so that the same operation makes the same record; or,
/// where there can be only one, from what there is only one of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(String);

impl RecordId {
    /// The record that an operation makes.
    #[must_use]
    pub fn derived(kind: RecordKind, operation: &OperationId) -> Self {
        Self::named(kind, &[&operation.to_string()])
    }

    /// One of several records of a kind that an operation makes.
    pub(super) fn part(kind: RecordKind, operation: &OperationId, number: usize) -> Self {
        Self::named(kind, &[&operation.to_string(), &number.to_string()])
    }

    /// The plan of a day: there is one.
    #[must_use]
    pub fn of_day_plan(day: &CalendarDay) -> Self {
        Self::named(RecordKind::DayPlan, &[&day.to_string()])
    }

    /// The rating of something on a scale: there is one.
    #[must_use]
    pub fn of_rating(target: &RatingTarget, scale: &str) -> Self {
        match target {
            RatingTarget::Record(id) => Self::named(RecordKind::Rating, &["record", id.as_str(), scale]),
            RatingTarget::Day(day) => Self::named(RecordKind::Rating, &["day", &day.to_string(), scale]),
        }
    }

    /// The link of a kind from one record to another: there is one.
    #[must_use]
    pub fn of_link(kind: &LinkKind, from: &Self, to: &Self) -> Self {
        Self::named(RecordKind::Link, &[kind.as_str(), from.as_str(), to.as_str()])
    }

    /// What a source calls one of its entries: there is one of each name. The name is hashed exactly as its bytes are.
    pub(crate) fn of_outside(label: &str, source: &str, name: &[u8]) -> Self {
        let digest = derived_hash(label, &[source, &Digest::of(name).to_string()]).to_string();
        Self(digest.chars().take(RECORD_ID_DIGITS).collect())
    }

    fn named(kind: RecordKind, parts: &[&str]) -> Self {
        let digest = derived_hash(kind.label(), parts).to_string();
        Self(digest.chars().take(RECORD_ID_DIGITS).collect())
    }

    /// Reads a name that somebody gave.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, WriteError> {
        let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        if text.len() == RECORD_ID_DIGITS && text.bytes().all(is_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(WriteError::BadId { field })
        }
    }

    /// The name as text.
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
