//! Writes of checklists and their items.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    Checklist, ChecklistItem, ITEMS_MAX, Record, RecordId, RecordKind, RecordMeta, WriteError,
};
use super::RecordWrite;
use super::check::at_most;
use crate::key::OperationId;
use crate::time::Millis;

/// A write that creates a checklist or items.
pub(super) struct ListWrite<'a> {
    pub(super) operation: &'a OperationId,
    pub(super) at: Millis,
}

impl ListWrite<'_> {
    pub(super) fn create(&self, task: &RecordId, title: &str, items: &[String]) -> Vec<RecordWrite> {
        let id = RecordId::derived(RecordKind::Checklist, self.operation);
        let checklist = Record::Checklist(Checklist {
            id: id.clone(),
            task: task.clone(),
            title: title.trim().to_owned(),
            life: RecordMeta::begun(self.at),
        });
        let items = self.items(&id, items, 1);
        std::iter::once(RecordWrite::new(checklist))
            .chain(items)
            .collect()
    }

    /// Appends items after the existing ones.
    pub(super) fn add(
        &self,
        checklist: &RecordId,
        items: &[String],
        there: &[Record],
    ) -> Result<Vec<RecordWrite>, WriteError> {
        at_most("items", there.len().saturating_add(items.len()), ITEMS_MAX)?;
        let last = of_list(there).map(|item| item.position).max().unwrap_or(0);
        Ok(self.items(checklist, items, last.saturating_add(1)).collect())
    }

    fn items(&self, checklist: &RecordId, items: &[String], first: u32) -> impl Iterator<Item = RecordWrite> {
        items
            .iter()
            .enumerate()
            .zip(first..)
            .map(move |((number, text), position)| {
                RecordWrite::new(Record::ChecklistItem(ChecklistItem {
                    id: RecordId::part(RecordKind::ChecklistItem, self.operation, number),
                    checklist: checklist.clone(),
                    text: text.trim().to_owned(),
                    checked: false,
                    position,
                    life: RecordMeta::begun(self.at),
                }))
            })
    }
}

pub(super) fn update(item: &ChecklistItem, text: Option<&str>, checked: Option<bool>) -> RecordWrite {
    let after = ChecklistItem {
        text: text.map_or_else(|| item.text.clone(), |text| text.trim().to_owned()),
        checked: checked.unwrap_or(item.checked),
        life: item.life.next(),
        ..item.clone()
    };
    RecordWrite::from(Record::ChecklistItem(item.clone()), Record::ChecklistItem(after))
}

/// Reorders the items; only items with a new position are written.
pub(super) fn order(wanted: &[RecordId], there: &[Record]) -> Result<Vec<RecordWrite>, WriteError> {
    let there: BTreeMap<&RecordId, &ChecklistItem> = of_list(there).map(|item| (&item.id, item)).collect();
    let named: BTreeSet<&RecordId> = wanted.iter().collect();
    if named.len() != wanted.len() || !named.into_iter().eq(there.keys().copied()) {
        return Err(WriteError::BadOrder);
    }
    let mut written = Vec::new();
    for (id, position) in wanted.iter().zip(1_u32..) {
        let Some(item) = there.get(id).filter(|item| item.position != position) else {
            continue;
        };
        let after = ChecklistItem {
            position,
            life: item.life.next(),
            ..(*item).clone()
        };
        written.push(RecordWrite::from(
            Record::ChecklistItem((*item).clone()),
            Record::ChecklistItem(after),
        ));
    }
    if written.is_empty() {
        return Err(WriteError::NothingToChange);
    }
    Ok(written)
}

fn of_list(records: &[Record]) -> impl Iterator<Item = &ChecklistItem> {
    records.iter().filter_map(|record| {
        let Record::ChecklistItem(item) = record else {
            return None;
        };
        Some(item)
    })
}
