//! Time that is spent on tasks.

use super::super::{Kind, Life, Mutation, Record, RecordId, Refusal, TimeEntry};
use super::Written;
use super::check::in_order;
use crate::key::OperationId;
use crate::time::Millis;

pub(super) fn start(task: &RecordId, description: &str, operation: &OperationId, at: Millis) -> Written {
    Written::new(Record::TimeEntry(TimeEntry {
        id: RecordId::derived(Kind::TimeEntry, operation),
        task: task.clone(),
        started_at: at,
        ended_at: None,
        description: description.to_owned(),
        life: Life::begun(at),
    }))
}

/// A clock that was set back since the start does not make time negative.
pub(super) fn stop(entry: &TimeEntry, at: Millis) -> Result<Written, Refusal> {
    if entry.ended_at.is_some() {
        return Err(Refusal::TimerStopped(entry.id.to_string()));
    }
    let after = TimeEntry {
        ended_at: Some(at.max(entry.started_at)),
        life: entry.life.next(),
        ..entry.clone()
    };
    Ok(written(entry, after))
}

pub(super) fn add(mutation: &Mutation, operation: &OperationId, at: Millis) -> Result<Written, Refusal> {
    let Mutation::AddTime {
        task,
        started_at,
        ended_at,
        description,
    } = mutation
    else {
        return Err(Refusal::NothingToChange);
    };
    Ok(Written::new(Record::TimeEntry(TimeEntry {
        id: RecordId::derived(Kind::TimeEntry, operation),
        task: task.clone(),
        started_at: *started_at,
        ended_at: Some(*ended_at),
        description: description.clone(),
        life: Life::begun(at),
    })))
}

pub(super) fn update(
    entry: &TimeEntry,
    started_at: Option<Millis>,
    ended_at: Option<Millis>,
    description: Option<&str>,
) -> Result<Written, Refusal> {
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

fn written(before: &TimeEntry, after: TimeEntry) -> Written {
    Written::from(Record::TimeEntry(before.clone()), Record::TimeEntry(after))
}
