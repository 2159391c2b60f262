//! The rules of journal writes and their undo. They are pure: the store reads, calls them, and commits the
//! result.
//!
//! The order of calls: [`check`] validates the mutation alone; [`Mutation::needs`](super::Mutation::needs)
//! lists what to read; [`apply`] decides; [`unique_constraint`] returns the constraint of a new record, and
//! [`check_unique`] checks it against an existing one.

mod check;
mod checklist;
mod day_plan;
#[cfg(test)]
mod memory_journal;
#[cfg(test)]
mod properties;
mod rating_link;
#[cfg(test)]
mod tests;
mod time_entry;
mod undo;

use std::collections::BTreeMap;

use self::checklist::ListWrite;
use super::{
    Category, MOVED_MAX, Mutation, Note, Record, RecordId, RecordKind, Task, TaskStatus, WriteError,
};
use crate::key::OperationId;
use crate::time::Millis;

pub use self::check::check;
pub use self::undo::{UndoRecord, undo};

/// The records that were read for a mutation, as [`Mutation::needs`](super::Mutation::needs) requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// The requested records, including tombstones.
    pub records: BTreeMap<RecordId, Record>,
    /// The requested related records.
    pub members: Vec<Record>,
}

/// One record that a mutation writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWrite {
    /// The new record.
    pub after: Record,
    /// The previous record; `None` if it is created.
    pub before: Option<Record>,
}

string_enum! {
    /// How a write changes a record.
    pub enum RecordChange {
        /// The record is created.
        Created = "created",
        /// The record gets new contents.
        Updated = "updated",
        /// The record is deleted.
        Removed = "removed",
        /// The record is restored.
        Restored = "restored",
    }
}

impl RecordWrite {
    pub(super) const fn new(after: Record) -> Self {
        Self { after, before: None }
    }

    pub(super) const fn from(before: Record, after: Record) -> Self {
        Self {
            after,
            before: Some(before),
        }
    }

    #[must_use]
    pub fn change(&self) -> RecordChange {
        let was_removed = self.before.as_ref().map(Record::is_removed);
        match (was_removed, self.after.is_removed()) {
            (_, true) => RecordChange::Removed,
            (None, false) => RecordChange::Created,
            (Some(true), false) => RecordChange::Restored,
            (Some(false), false) => RecordChange::Updated,
        }
    }
}

macro_rules! present {
    ($($name:ident: $variant:ident),* $(,)?) => {
        impl ReadSet {
            $(fn $name(&self, id: &RecordId) -> Result<&super::$variant, WriteError> {
                match self.records.get(id) {
                    Some(record @ Record::$variant(found)) => there(record).map(|()| found),
                    Some(_) | None => Err(unknown(RecordKind::$variant, id)),
                }
            })*
        }
    };
}
present!(
    category: Category,
    task: Task,
    checklist: Checklist,
    item: ChecklistItem,
    time_entry: TimeEntry,
    block: DayPlanBlock,
);

impl ReadSet {
    /// A record of any kind, or its tombstone.
    fn any(&self, id: &RecordId) -> Result<&Record, WriteError> {
        self.records.get(id).ok_or_else(|| WriteError::UnknownRecord {
            kind: "record",
            id: id.to_string(),
        })
    }
}

fn unknown(kind: RecordKind, id: &RecordId) -> WriteError {
    match kind {
        RecordKind::Task => WriteError::UnknownTask(id.to_string()),
        RecordKind::Category => WriteError::UnknownCategory(id.to_string()),
        RecordKind::Note
        | RecordKind::Checklist
        | RecordKind::ChecklistItem
        | RecordKind::TimeEntry
        | RecordKind::DayPlan
        | RecordKind::DayPlanBlock
        | RecordKind::Rating
        | RecordKind::Link => WriteError::UnknownRecord {
            kind: kind.as_str(),
            id: id.to_string(),
        },
    }
}

/// Rejects a tombstone.
fn there(record: &Record) -> Result<(), WriteError> {
    if record.is_removed() {
        return Err(WriteError::Removed {
            kind: record.kind().as_str(),
            id: record.id().to_string(),
        });
    }
    Ok(())
}

/// Applies a mutation and returns the records to write. The first one is the subject of the mutation.
pub fn apply(
    mutation: &Mutation,
    reads: &ReadSet,
    operation: &OperationId,
    at: Millis,
) -> Result<Vec<RecordWrite>, WriteError> {
    check(mutation)?;
    let one = |written: Result<RecordWrite, WriteError>| written.map(|written| vec![written]);
    match mutation {
        Mutation::CreateCategory { name } => Ok(vec![RecordWrite::new(new_category(name, operation, at))]),
        Mutation::RenameCategory { category, name } => one(rename(reads.category(category)?, name)),
        Mutation::CreateTask { .. } => one(create_task(mutation, reads, operation, at)),
        Mutation::UpdateTask { .. } => one(update_task(mutation, reads, at)),
        Mutation::CreateNote { text, task } => {
            task.as_ref().map(|task| reads.task(task)).transpose()?;
            one(Ok(create_note(text, task.as_ref(), operation, at)))
        }
        Mutation::CreateChecklist { task, title, items } => {
            reads.task(task)?;
            Ok(ListWrite { operation, at }.create(task, title, items))
        }
        Mutation::AddItems { checklist, items } => {
            reads.checklist(checklist)?;
            ListWrite { operation, at }.add(checklist, items, &reads.members)
        }
        Mutation::UpdateItem { item, text, checked } => one(Ok(checklist::update(
            reads.item(item)?,
            text.as_deref(),
            *checked,
        ))),
        Mutation::OrderItems { checklist, items } => {
            reads.checklist(checklist)?;
            checklist::order(items, &reads.members)
        }
        Mutation::StartTime { task, description } => {
            reads.task(task)?;
            one(Ok(time_entry::start(task, description, operation, at)))
        }
        Mutation::StopTime { entry } => one(time_entry::stop(reads.time_entry(entry)?, at)),
        Mutation::AddTime { task, .. } => {
            reads.task(task)?;
            one(time_entry::add(mutation, operation, at))
        }
        Mutation::UpdateTime {
            entry,
            started_at,
            ended_at,
            description,
        } => one(time_entry::update(
            reads.time_entry(entry)?,
            *started_at,
            *ended_at,
            description.as_deref(),
        )),
        Mutation::WriteDayPlan { .. } => day_plan::write(mutation, reads, operation, at),
        Mutation::Rate { target, .. } => one(rating_link::rate(mutation, target, reads, at)),
        Mutation::CreateLink { .. } => one(rating_link::link(mutation, reads, at)),
        Mutation::Remove { record, move_to } => remove(record, move_to.as_ref(), reads, at),
        Mutation::Restore { record } => one(restore(reads.any(record)?, at)),
    }
}

fn new_category(name: &str, operation: &OperationId, at: Millis) -> Record {
    Record::Category(Category {
        id: RecordId::derived(RecordKind::Category, operation),
        name: name.trim().to_owned(),
        created_at: at,
        version: 1,
        removed_at: None,
    })
}

fn rename(category: &Category, name: &str) -> Result<RecordWrite, WriteError> {
    if category.name == name.trim() {
        return Err(WriteError::NothingToChange);
    }
    let after = Category {
        name: name.trim().to_owned(),
        version: category.version.saturating_add(1),
        ..category.clone()
    };
    Ok(RecordWrite::from(
        Record::Category(category.clone()),
        Record::Category(after),
    ))
}

fn create_task(
    mutation: &Mutation,
    reads: &ReadSet,
    operation: &OperationId,
    at: Millis,
) -> Result<RecordWrite, WriteError> {
    let Mutation::CreateTask {
        title,
        details,
        category,
    } = mutation
    else {
        return Err(WriteError::NothingToChange);
    };
    if let Some(category) = category {
        reads.category(category)?;
    }
    Ok(RecordWrite::new(Record::Task(Task {
        id: RecordId::derived(RecordKind::Task, operation),
        category: category.clone(),
        title: title.trim().to_owned(),
        details: details.clone(),
        status: TaskStatus::Open,
        created_at: at,
        updated_at: at,
        version: 1,
        removed_at: None,
    })))
}

fn update_task(mutation: &Mutation, reads: &ReadSet, at: Millis) -> Result<RecordWrite, WriteError> {
    let Mutation::UpdateTask {
        task,
        title,
        details,
        status,
        category,
    } = mutation
    else {
        return Err(WriteError::NothingToChange);
    };
    if let Some(category) = category {
        reads.category(category)?;
    }
    let before = reads.task(task)?;
    let title = title.as_ref().map(|title| title.trim().to_owned());
    let after = Task {
        category: category.clone().or_else(|| before.category.clone()),
        title: title.unwrap_or_else(|| before.title.clone()),
        details: details.clone().unwrap_or_else(|| before.details.clone()),
        status: status.unwrap_or(before.status),
        updated_at: at,
        version: before.version.saturating_add(1),
        ..before.clone()
    };
    Ok(RecordWrite::from(
        Record::Task(before.clone()),
        Record::Task(after),
    ))
}

fn create_note(text: &str, task: Option<&RecordId>, operation: &OperationId, at: Millis) -> RecordWrite {
    RecordWrite::new(Record::Note(Note {
        id: RecordId::derived(RecordKind::Note, operation),
        task: task.cloned(),
        text: text.to_owned(),
        created_at: at,
        version: 1,
        removed_at: None,
    }))
}

fn remove(
    id: &RecordId,
    move_to: Option<&RecordId>,
    reads: &ReadSet,
    at: Millis,
) -> Result<Vec<RecordWrite>, WriteError> {
    let record = reads.any(id)?;
    there(record)?;
    if let Some(heir) = move_to {
        // Only records of a category can be moved, and not to the deleted category.
        reads.category(id)?;
        reads.category(heir)?;
        if heir == id {
            return Err(WriteError::Removed {
                kind: RecordKind::Category.as_str(),
                id: id.to_string(),
            });
        }
    }
    let inside: &[Record] = match record {
        Record::Category(_) => &reads.members,
        Record::Task(_)
        | Record::Note(_)
        | Record::Checklist(_)
        | Record::ChecklistItem(_)
        | Record::TimeEntry(_)
        | Record::DayPlan(_)
        | Record::DayPlanBlock(_)
        | Record::Rating(_)
        | Record::Link(_) => &[],
    };
    if let (Record::Category(category), false, None) = (record, inside.is_empty(), move_to) {
        return Err(WriteError::CategoryInUse {
            name: category.name.clone(),
            uses: inside.len(),
        });
    }
    check::at_most("records in the category", inside.len(), MOVED_MAX)?;
    let gone = record
        .clone()
        .written(record.version().saturating_add(1), at, Some(at));
    let mut written = vec![RecordWrite::from(record.clone(), gone)];
    written.extend(inside.iter().map(|inside| moved(inside, move_to, at)));
    Ok(written)
}

fn moved(record: &Record, to: Option<&RecordId>, at: Millis) -> RecordWrite {
    let mut after = record
        .clone()
        .written(record.version().saturating_add(1), at, None);
    match &mut after {
        Record::Task(Task { category, .. }) | Record::DayPlanBlock(super::DayPlanBlock { category, .. }) => {
            *category = to.cloned();
        }
        Record::Category(_)
        | Record::Note(_)
        | Record::Checklist(_)
        | Record::ChecklistItem(_)
        | Record::TimeEntry(_)
        | Record::DayPlan(_)
        | Record::Rating(_)
        | Record::Link(_) => {}
    }
    RecordWrite::from(record.clone(), after)
}

fn restore(record: &Record, at: Millis) -> Result<RecordWrite, WriteError> {
    if !record.is_removed() {
        return Err(WriteError::NotRemoved {
            kind: record.kind().as_str(),
            id: record.id().to_string(),
        });
    }
    let back = record
        .clone()
        .written(record.version().saturating_add(1), at, None);
    Ok(RecordWrite::from(record.clone(), back))
}

/// What must be unique among existing records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UniqueConstraint<'a> {
    /// The name of a category.
    Named(&'a str),
    /// The running time entry of a task.
    Running(&'a RecordId),
}

/// The constraint of this record; `None` if it is deleted or has none.
#[must_use]
pub fn unique_constraint(record: &Record) -> Option<UniqueConstraint<'_>> {
    if record.is_removed() {
        return None;
    }
    match record {
        Record::Category(category) => Some(UniqueConstraint::Named(&category.name)),
        Record::TimeEntry(entry) if entry.ended_at.is_none() => Some(UniqueConstraint::Running(&entry.task)),
        Record::Task(_)
        | Record::Note(_)
        | Record::Checklist(_)
        | Record::ChecklistItem(_)
        | Record::TimeEntry(_)
        | Record::DayPlan(_)
        | Record::DayPlanBlock(_)
        | Record::Rating(_)
        | Record::Link(_) => None,
    }
}

/// Checks whether a record may be written although `found` matches its constraint.
pub fn check_unique(record: &Record, found: &Record) -> Result<(), WriteError> {
    if record.id() == found.id() {
        return Ok(());
    }
    match found {
        Record::Category(category) => Err(WriteError::CategoryExists(category.name.clone())),
        Record::TimeEntry(entry) => Err(WriteError::TimeEntryRunning(entry.id.to_string())),
        Record::Task(_)
        | Record::Note(_)
        | Record::Checklist(_)
        | Record::ChecklistItem(_)
        | Record::DayPlan(_)
        | Record::DayPlanBlock(_)
        | Record::Rating(_)
        | Record::Link(_) => Ok(()),
    }
}
