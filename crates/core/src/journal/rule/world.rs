//! A journal in memory, for tests of the rules: it reads what a rule asks for, as the store does.

use std::collections::BTreeMap;

use super::{Before, Reads, Rival, Written, apply, rival, undo, yields};
use crate::journal::{Members, Mutation, Record, RecordId, Refusal};
use crate::key::{Digest, OperationId};
use crate::time::Millis;

#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub(super) records: BTreeMap<RecordId, Record>,
    done: BTreeMap<OperationId, Vec<(Option<Record>, Record)>>,
}

pub(super) fn operation(name: &str) -> OperationId {
    OperationId(Digest::of(name.as_bytes()))
}

impl World {
    pub(super) fn present(&self) -> impl Iterator<Item = &Record> {
        self.records.values().filter(|record| !record.is_removed())
    }

    /// Writes, and returns what was written.
    pub(super) fn write(
        &mut self,
        name: &str,
        mutation: &Mutation,
        at: i64,
    ) -> Result<Vec<Written>, Refusal> {
        let needs = mutation.needs();
        let named = needs.records.iter();
        let reads = Reads {
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

    pub(super) fn undo(&mut self, name: &str, at: i64) -> Result<Vec<Written>, Refusal> {
        let done = self.done.get(&operation(name)).cloned().unwrap_or_default();
        let before = |(record, after): (Option<Record>, Record)| Before {
            version: after.version(),
            record,
            dependents: self.dependents(after.id()),
            now: self.records.get(after.id()).cloned().expect("it was written"),
        };
        let written = undo(done.into_iter().map(before).collect(), Millis(at))?;
        self.take(&written)?;
        self.done.remove(&operation(name));
        Ok(written)
    }

    fn take(&mut self, written: &[Written]) -> Result<(), Refusal> {
        for one in written {
            let found = rival(&one.after).and_then(|rival| self.rival(&rival));
            if let Some(found) = found {
                yields(&one.after, found)?;
            }
        }
        let after = written
            .iter()
            .map(|one| (one.after.id().clone(), one.after.clone()));
        self.records.extend(after);
        Ok(())
    }

    fn rival(&self, rival: &Rival<'_>) -> Option<&Record> {
        self.present().find(|record| match (rival, record) {
            (Rival::Named(name), Record::Category(category)) => category.name == *name,
            (Rival::Running(task), Record::TimeEntry(entry)) => {
                entry.ended_at.is_none() && entry.task == **task
            }
            (Rival::Named(_) | Rival::Running(_), _) => false,
        })
    }

    fn members(&self, members: &Members) -> Vec<Record> {
        let is_one = |record: &&Record| match (members, record) {
            (Members::Items(list), Record::ChecklistItem(item)) => item.checklist == *list,
            (Members::Blocks(plan), Record::DayPlanBlock(block)) => block.plan == *plan,
            (Members::InCategory(category), Record::Task(task)) => task.category.as_ref() == Some(category),
            (Members::InCategory(category), Record::DayPlanBlock(block)) => {
                block.category.as_ref() == Some(category)
            }
            (Members::Items(_) | Members::Blocks(_) | Members::InCategory(_), _) => false,
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
