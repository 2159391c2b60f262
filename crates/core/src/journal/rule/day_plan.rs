//! Writes of day plans and their blocks.

use super::super::{
    BLOCKS_MAX, DayPlan, DayPlanBlock, DayPlanBlockWrite, Mutation, Record, RecordId, RecordKind, RecordMeta,
    WriteError,
};
use super::check::at_most;
use super::{ReadSet, RecordWrite, there, unknown};
use crate::key::OperationId;
use crate::time::Millis;

/// Writes the plan and its blocks. The plan is written each time, so that its subscribers are notified of
/// changed blocks.
pub(super) fn write(
    mutation: &Mutation,
    reads: &ReadSet,
    operation: &OperationId,
    at: Millis,
) -> Result<Vec<RecordWrite>, WriteError> {
    let Mutation::WriteDayPlan {
        day,
        note,
        upserts,
        deletes,
    } = mutation
    else {
        return Err(WriteError::NothingToChange);
    };
    let id = RecordId::of_day_plan(day);
    let before = match reads.records.get(&id) {
        Some(record @ Record::DayPlan(plan)) => {
            there(record)?;
            Some(plan)
        }
        Some(_) | None => None,
    };
    if before.is_some() && note.is_none() && upserts.is_empty() && deletes.is_empty() {
        return Err(WriteError::NothingToChange);
    }
    let fresh = upserts.iter().filter(|write| write.block.is_none()).count();
    let left = reads
        .members
        .len()
        .saturating_add(fresh)
        .saturating_sub(deletes.len());
    at_most("blocks of the day", left, BLOCKS_MAX)?;
    let after = DayPlan {
        id: id.clone(),
        day: *day,
        note: note
            .clone()
            .unwrap_or_else(|| before.map(|plan| plan.note.clone()).unwrap_or_default()),
        life: before.map_or(RecordMeta::begun(at), |plan| plan.life.next()),
    };
    let mut written = vec![RecordWrite {
        after: Record::DayPlan(after),
        before: before.cloned().map(Record::DayPlan),
    }];
    for (number, upsert) in upserts.iter().enumerate() {
        let before = block_before(&id, upsert, reads)?;
        let (block_id, life) = before.map_or_else(
            || {
                let id = RecordId::part(RecordKind::DayPlanBlock, operation, number);
                (id, RecordMeta::begun(at))
            },
            |block| (block.id.clone(), block.life.next()),
        );
        written.push(RecordWrite {
            after: Record::DayPlanBlock(block(&id, upsert, block_id, life)),
            before: before.cloned().map(Record::DayPlanBlock),
        });
    }
    for gone in deletes {
        let before = Record::DayPlanBlock(of_plan(&id, gone, reads)?.clone());
        let after = before
            .clone()
            .written(before.version().saturating_add(1), at, Some(at));
        written.push(RecordWrite::from(before, after));
    }
    Ok(written)
}

/// The block that a write changes; `None` if it creates one. Records that the write refers to must exist.
fn block_before<'a>(
    plan: &RecordId,
    write: &DayPlanBlockWrite,
    reads: &'a ReadSet,
) -> Result<Option<&'a DayPlanBlock>, WriteError> {
    if let Some(task) = &write.task {
        reads.task(task)?;
    }
    if let Some(category) = &write.category {
        reads.category(category)?;
    }
    let block = write.block.as_ref();
    block.map(|id| of_plan(plan, id, reads)).transpose()
}

fn block(plan: &RecordId, write: &DayPlanBlockWrite, id: RecordId, life: RecordMeta) -> DayPlanBlock {
    DayPlanBlock {
        id,
        plan: plan.clone(),
        starts_at: write.starts_at,
        ends_at: write.ends_at,
        task: write.task.clone(),
        category: write.category.clone(),
        note: write.note.clone(),
        life,
    }
}

/// Returns the block if it belongs to this plan.
fn of_plan<'a>(plan: &RecordId, id: &RecordId, reads: &'a ReadSet) -> Result<&'a DayPlanBlock, WriteError> {
    let block = reads.block(id)?;
    if block.plan == *plan {
        Ok(block)
    } else {
        Err(unknown(RecordKind::DayPlanBlock, id))
    }
}
