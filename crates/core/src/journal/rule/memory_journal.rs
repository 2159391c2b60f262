//! An in-memory journal for tests of the rules. Like the store, it reads what a rule requests.

use std::collections::BTreeMap;

use super::{
    ReadSet, RecordWrite, UndoRecord, UniqueConstraint, apply, check_unique, undo, unique_constraint,
};
use crate::journal::{Mutation, Record, RecordId, RelatedRecords, WriteError};
use crate::key::{Digest, OperationId};
use crate::time::Millis;

#[derive(Debug, Clone, Default)]
pub(super) struct MemoryJournal {
    pub(super) records: BTreeMap<RecordId, Record>,
    done: BTreeMap<OperationId, Vec<(Option<Record>, Record)>>,
}

pub(super) fn operation(name: &str) -> OperationId {
    OperationId(Digest::of(name.as_bytes()))
}

impl MemoryJournal {
    pub(super) fn present(&self) -> impl Iterator<Item = &Record> {
        self.records.values().filter(|record| !record.is_removed())
    }

    /// Applies a mutation and returns the writes.
    pub(super) fn write(
        &mut self,
        name: &str,
        mutation: &Mutation,
        at: i64,
    ) -> Result<Vec<RecordWrite>, WriteError> {
        let needs = mutation.needs();
        let named = needs.records.iter();
        let reads = ReadSet {
            records: named
                .filter_map(|id| Some((id.clone(), self.records.get(id)?.clone())))
                .collect(),
            members: needs
                .members
                .map(|members| self.members(&members))
                .unwrap_or_default(),
        };
        let written = apply(mutation, &reads, &operation(name), Millis(at))?;
        self.take(&written)?;
        let kept = written
            .iter()
            .map(|one| (one.before.clone(), one.after.clone()))
            .collect();
        self.done.insert(operation(name), kept);
        Ok(written)
    }

    pub(super) fn undo(&mut self, name: &str, at: i64) -> Result<Vec<RecordWrite>, WriteError> {
        let done = self.done.get(&operation(name)).cloned().unwrap_or_default();
        let before = |(record, after): (Option<Record>, Record)| UndoRecord {
            version: after.version(),
            record,
            dependents: self.dependents(after.id()),
            now: self
                .records
                .get(after.id())
                .cloned()
                .expect("the record was written"),
        };
        let written = undo(done.into_iter().map(before).collect(), Millis(at))?;
        self.take(&written)?;
        self.done.remove(&operation(name));
        Ok(written)
    }

    fn take(&mut self, written: &[RecordWrite]) -> Result<(), WriteError> {
        for one in written {
            let found = unique_constraint(&one.after).and_then(|rival| self.rival(&rival));
            if let Some(found) = found {
                check_unique(&one.after, found)?;
            }
        }
        let after = written
            .iter()
            .map(|one| (one.after.id().clone(), one.after.clone()));
        self.records.extend(after);
        Ok(())
    }

    fn rival(&self, rival: &UniqueConstraint<'_>) -> Option<&Record> {
        self.present().find(|record| match (rival, record) {
            (UniqueConstraint::Named(name), Record::Category(category)) => category.name == *name,
            (UniqueConstraint::Running(task), Record::TimeEntry(entry)) => {
                entry.ended_at.is_none() && entry.task == **task
            }
            (UniqueConstraint::Named(_) | UniqueConstraint::Running(_), _) => false,
        })
    }

    fn members(&self, members: &RelatedRecords) -> Vec<Record> {
        let is_one = |record: &&Record| match (members, record) {
            (RelatedRecords::Items(list), Record::ChecklistItem(item)) => item.checklist == *list,
            (RelatedRecords::Blocks(plan), Record::DayPlanBlock(block)) => block.plan == *plan,
            (RelatedRecords::InCategory(category), Record::Task(task)) => {
                task.category.as_ref() == Some(category)
            }
            (RelatedRecords::InCategory(category), Record::DayPlanBlock(block)) => {
                block.category.as_ref() == Some(category)
            }
            (RelatedRecords::Items(_) | RelatedRecords::Blocks(_) | RelatedRecords::InCategory(_), _) => {
                false
            }
        };
        self.present().filter(is_one).cloned().collect()
    }

    fn dependents(&self, of: &RecordId) -> Vec<RecordId> {
        let names = |record: &&Record| record.owners().contains(&of);
        self.present()
            .filter(names)
            .map(|record| record.id().clone())
            .collect()
    }
}
