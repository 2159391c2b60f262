//! The beginning of a conversation, for a run that continues an earlier one from one of its steps.

use wakeful_core::conversation::Role;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::HISTORY_ENTRIES_MAX;
use wakeful_core::run::EntryWrite;
use wakeful_core::step::StepStatus;
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, View};

/// Rows read at once.
const PAGE: u32 = 1_000;

/// The conversation before a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EarlierEntries {
    /// The newest [`HISTORY_ENTRIES_MAX`] entries, oldest first.
    Found(Vec<EntryWrite>),
    /// The run has no such step.
    UnknownStep,
    /// Entries or their contents were erased or pruned.
    Removed,
}

/// Reads the conversation up to the model request that a step is or belongs to. A tool call belongs to the
/// request whose reply asked for it: without its result, its call must not be part of a conversation.
pub(super) fn before_step(
    view: &mut View<'_>,
    run: RunKey,
    step: OperationId,
) -> Result<EarlierEntries, StoreError> {
    let Some(row) = view.run(&run)? else {
        return Ok(EarlierEntries::UnknownStep);
    };
    let Some(replies) = replies_before(view, &run, step)? else {
        return Ok(EarlierEntries::UnknownStep);
    };
    let message = view.message(&run)?;
    let skipped = message.map_or(0, |message| message.options.history.len());
    let Some(end) = position_of_reply(view, &row, Replies { skipped, replies })? else {
        return Ok(EarlierEntries::Removed);
    };
    let most = u32::try_from(HISTORY_ENTRIES_MAX).unwrap_or(u32::MAX);
    // One place is left for an additional message.
    let rows = view.entries_before(&row.thread_id, end, most - 1)?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        if view.blob(&row.content)?.is_none() {
            return Ok(EarlierEntries::Removed);
        }
        entries.push(EntryWrite {
            role: row.role,
            content: row.content,
            sources: row.sources,
        });
    }
    Ok(match entries.is_empty() {
        true => EarlierEntries::Removed,
        false => EarlierEntries::Found(entries),
    })
}

/// Counts the replies of a run before the model request of a step; none if the run has no such step.
fn replies_before(
    view: &mut View<'_>,
    run: &RunKey,
    wanted: OperationId,
) -> Result<Option<usize>, StoreError> {
    let (mut replies, mut after) = (0_usize, 0);
    loop {
        let page = view.steps(run, after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        after = last.ordinal;
        for step in &page {
            let is_model = step.class.is_none();
            if step.operation_id == wanted {
                // The newest reply asked for the tool call.
                let own = usize::from(!is_model);
                return Ok(Some(replies.saturating_sub(own)));
            }
            replies += usize::from(is_model && step.status == StepStatus::Ok);
        }
    }
}

/// Which reply of a run is looked for.
#[derive(Clone, Copy)]
struct Replies {
    /// Entries at the beginning that are not the run's own.
    skipped: usize,
    /// Replies before it.
    replies: usize,
}

/// The position of a reply in its thread, or the position after the last entry if the run has no such reply.
/// None if the run has fewer entries than its replies need.
fn position_of_reply(view: &mut View<'_>, row: &RunRow, wanted: Replies) -> Result<Option<i64>, StoreError> {
    let (mut seen, mut replies, mut after) = (0_usize, 0_usize, 0);
    loop {
        let page = view.contents(row, after, PAGE)?;
        let Some((last, _, _)) = page.last() else {
            let has_all = seen > 0 && replies >= wanted.replies;
            return Ok(has_all.then_some(after + 1));
        };
        for (position, role, _) in &page {
            seen += 1;
            if seen <= wanted.skipped || *role != Role::Assistant {
                continue;
            }
            if replies == wanted.replies {
                return Ok(Some(*position));
            }
            replies += 1;
        }
        after = *last;
    }
}
