//! Writes of time entries.

use super::super::{Mutation, Record, RecordId, RecordKind, RecordMeta, TimeEntry, WriteError};
use super::RecordWrite;
use super::check::in_order;
use crate::key::OperationId;
use crate::time::Millis;

pub(super) fn start(task: &RecordId, description: &str, operation: &OperationId, at: Millis) -> RecordWrite {
    RecordWrite::new(Record::TimeEntry(TimeEntry {
        id: RecordId::derived(RecordKind::TimeEntry, operation),
        task: task.clone(),
        started_at: at,
        ended_at: None,
        description: description.to_owned(),
        life: RecordMeta::begun(at),
    }))
}

/// Stops a time entry. If the clock was set back since the start, the duration is zero and not negative.
pub(super) fn stop(entry: &TimeEntry, at: Millis) -> Result<RecordWrite, WriteError> {
    if entry.ended_at.is_some() {
        return Err(WriteError::TimeEntryStopped(entry.id.to_string()));
    }
    let after = TimeEntry {
        ended_at: Some(at.max(entry.started_at)),
        life: entry.life.next(),
        ..entry.clone()
    };
    Ok(written(entry, after))
}

pub(super) fn add(
    mutation: &Mutation,
    operation: &OperationId,
    at: Millis,
) -> Result<RecordWrite, WriteError> {
    let Mutation::AddTime {
        task,
        started_at,
        ended_at,
        description,
    } = mutation
    else {
        return Err(WriteError::NothingToChange);
    };
    Ok(RecordWrite::new(Record::TimeEntry(TimeEntry {
        id: RecordId::derived(RecordKind::TimeEntry, operation),
        task: task.clone(),
        started_at: *started_at,
        ended_at: Some(*ended_at),
        description: description.clone(),
        life: RecordMeta::begun(at),
    })))
}

pub(super) fn update(
    entry: &TimeEntry,
    started_at: Option<Millis>,
    ended_at: Option<Millis>,
    description: Option<&str>,
) -> Result<RecordWrite, WriteError> {
    let after = TimeEntry {
        started_at: started_at.unwrap_or(entry.started_at),
        ended_at: ended_at.or(entry.ended_at),
        description: description.map_or_else(|| entry.description.clone(), str::to_owned),
        life: entry.life.next(),
        ..entry.clone()
    };
    if let Some(ended_at) = after.ended_at {
        in_order(after.started_at, ended_at)?;
    }
    Ok(written(entry, after))
}

fn written(before: &TimeEntry, after: TimeEntry) -> RecordWrite {
    RecordWrite::from(Record::TimeEntry(before.clone()), Record::TimeEntry(after))
}
