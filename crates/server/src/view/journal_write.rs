//! Converts journal writes from wire types.

use wakeful_api::{DayPlanBlockWrite, JournalWrite, ListRecords, RecordListKind, Text};
use wakeful_core::journal::{self, CalendarDay, LinkKind, Mutation, RatingTarget, RecordId, WriteError};
use wakeful_ports::journal::RecordQuery;

/// Default maximum of a rating scale.
const MOST_DEFAULT: u32 = 5;

/// Converts a requested write to a mutation.
pub fn mutation(write: JournalWrite) -> Result<Mutation, WriteError> {
    Ok(match write {
        JournalWrite::RenameCategory { category_id, name } => Mutation::RenameCategory {
            category: category_id.0,
            name,
        },
        JournalWrite::CreateChecklist { .. }
        | JournalWrite::AddItems { .. }
        | JournalWrite::UpdateItem { .. }
        | JournalWrite::OrderItems { .. } => return checklist(write),
        JournalWrite::StartTime { .. }
        | JournalWrite::StopTime { .. }
        | JournalWrite::AddTime { .. }
        | JournalWrite::UpdateTime { .. } => return time(write),
        JournalWrite::WriteDayPlan {
            date,
            note,
            upserts,
            deletes,
        } => Mutation::WriteDayPlan {
            day: date.0,
            note,
            upserts: upserts.into_iter().map(block).collect(),
            deletes: ids(deletes),
        },
        JournalWrite::Rate {
            record_id,
            date,
            scale,
            value,
            scale_max: most,
            note,
        } => Mutation::Rate {
            target: target(record_id, date)?,
            scale,
            value,
            most: most.unwrap_or(MOST_DEFAULT),
            note: note.unwrap_or_default(),
        },
        JournalWrite::CreateLink {
            from_id,
            to_id,
            link_kind,
        } => Mutation::CreateLink {
            from: from_id.0,
            to: to_id.0,
            link: LinkKind::parse(&link_kind)?,
        },
        JournalWrite::Remove { record_id, move_to } => Mutation::Remove {
            record: record_id.0,
            move_to: move_to.map(|id| id.0),
        },
        JournalWrite::Restore { record_id } => Mutation::Restore { record: record_id.0 },
    })
}

/// Converts a write to a checklist.
fn checklist(write: JournalWrite) -> Result<Mutation, WriteError> {
    Ok(match write {
        JournalWrite::CreateChecklist {
            task_id,
            title,
            items,
        } => Mutation::CreateChecklist {
            task: task_id.0,
            title,
            items,
        },
        JournalWrite::AddItems { checklist_id, items } => Mutation::AddItems {
            checklist: checklist_id.0,
            items,
        },
        JournalWrite::UpdateItem {
            item_id,
            text,
            checked,
        } => Mutation::UpdateItem {
            item: item_id.0,
            text,
            checked,
        },
        JournalWrite::OrderItems { checklist_id, items } => Mutation::OrderItems {
            checklist: checklist_id.0,
            items: ids(items),
        },
        JournalWrite::RenameCategory { .. }
        | JournalWrite::WriteDayPlan { .. }
        | JournalWrite::Rate { .. }
        | JournalWrite::CreateLink { .. }
        | JournalWrite::Remove { .. }
        | JournalWrite::Restore { .. }
        | JournalWrite::StartTime { .. }
        | JournalWrite::StopTime { .. }
        | JournalWrite::AddTime { .. }
        | JournalWrite::UpdateTime { .. } => return Err(WriteError::NothingToChange),
    })
}

/// Converts a write to a time entry.
fn time(write: JournalWrite) -> Result<Mutation, WriteError> {
    Ok(match write {
        JournalWrite::StartTime { task_id, description } => Mutation::StartTime {
            task: task_id.0,
            description: description.unwrap_or_default(),
        },
        JournalWrite::StopTime { time_entry_id } => Mutation::StopTime {
            entry: time_entry_id.0,
        },
        JournalWrite::AddTime {
            task_id,
            started_at,
            ended_at,
            description,
        } => Mutation::AddTime {
            task: task_id.0,
            started_at: started_at.0,
            ended_at: ended_at.0,
            description: description.unwrap_or_default(),
        },
        JournalWrite::UpdateTime {
            time_entry_id,
            started_at,
            ended_at,
            description,
        } => Mutation::UpdateTime {
            entry: time_entry_id.0,
            started_at: started_at.map(|at| at.0),
            ended_at: ended_at.map(|at| at.0),
            description,
        },
        JournalWrite::RenameCategory { .. }
        | JournalWrite::WriteDayPlan { .. }
        | JournalWrite::Rate { .. }
        | JournalWrite::CreateLink { .. }
        | JournalWrite::Remove { .. }
        | JournalWrite::Restore { .. }
        | JournalWrite::CreateChecklist { .. }
        | JournalWrite::AddItems { .. }
        | JournalWrite::UpdateItem { .. }
        | JournalWrite::OrderItems { .. } => return Err(WriteError::NothingToChange),
    })
}

fn block(write: DayPlanBlockWrite) -> journal::DayPlanBlockWrite {
    journal::DayPlanBlockWrite {
        block: write.block_id.map(|id| id.0),
        starts_at: write.starts_at.0,
        ends_at: write.ends_at.0,
        task: write.task_id.map(|id| id.0),
        category: write.category_id.map(|id| id.0),
        note: write.note.unwrap_or_default(),
    }
}

fn ids(given: Vec<Text<RecordId>>) -> Vec<RecordId> {
    given.into_iter().map(|id| id.0).collect()
}

/// The target of a rating: either a record or a day.
fn target(
    record: Option<Text<RecordId>>,
    day: Option<Text<CalendarDay>>,
) -> Result<RatingTarget, WriteError> {
    match (record, day) {
        (Some(record), None) => Ok(RatingTarget::Record(record.0)),
        (None, Some(day)) => Ok(RatingTarget::Day(day.0)),
        (Some(_), Some(_)) => Err(WriteError::BadDay),
        (None, None) => Err(WriteError::BadId { field: "record_id" }),
    }
}

/// Converts a list request to a query. `None` means any kind, by id prefix. The error names the field that
/// the kind requires.
pub fn listing(asked: ListRecords) -> Result<Option<RecordQuery>, WriteError> {
    let ListRecords {
        kind,
        related_id: of,
        date,
        running,
        ..
    } = asked;
    let (record, day) = (of.map(|of| of.0), date.map(|date| date.0));
    let needed = |id: Option<RecordId>| id.ok_or(WriteError::BadId { field: "of" });
    Ok(Some(match kind {
        RecordListKind::Checklist => RecordQuery::Checklists { task: record },
        RecordListKind::ChecklistItem => RecordQuery::Items {
            checklist: needed(record)?,
        },
        RecordListKind::TimeEntry => RecordQuery::TimeEntries {
            task: record,
            running,
        },
        RecordListKind::DayPlan => RecordQuery::DayPlans { day },
        RecordListKind::DayPlanBlock => RecordQuery::Blocks {
            plan: needed(record.or_else(|| day.as_ref().map(RecordId::of_day_plan)))?,
        },
        RecordListKind::Rating => RecordQuery::Ratings {
            // If both are given, the record has precedence over the day.
            target: record.map(RatingTarget::Record).or(day.map(RatingTarget::Day)),
        },
        RecordListKind::Link => RecordQuery::Links { of: record },
        RecordListKind::Any => return Ok(None),
    }))
}
