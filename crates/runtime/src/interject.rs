//! Interjections: a person's messages to a run in progress. They join between tool results and the next
//! model request, in the transaction that records the intent of that request, so each joins exactly once
//! and its record names the run.

use wakeful_core::cause::{INTERJECTED_MAX, Priority};
use wakeful_core::conversation::Block;
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::provenance::Sources;
use wakeful_core::run::Interjection;
use wakeful_core::time::Millis;
use wakeful_store::rows::QueueRow;
use wakeful_store::{StoreError, Tx, View};

use crate::absorb::absorb;

/// How many queued messages are searched for interjections that may join: not every interjection may.
const QUEUE_SCAN_MAX: u32 = 64;

/// Whether interjections may be waiting for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterjectionHint {
    /// Unknown: the transaction checks, and stops if there are any.
    Maybe,
    /// The known interjections are complete for this request.
    Known,
}

/// Returns the queued interjections that may join the run, in order. Messages of another thread wait for
/// their own run. Interjections are first in the queue, so checking its first row is enough when there are
/// none.
pub(crate) fn waiting(
    view: &mut View<'_>,
    agent: &AgentId,
    thread: &ThreadId,
) -> Result<Vec<Interjection>, StoreError> {
    let is_urgent = |row: &QueueRow| row.message.cause.priority == Priority::Interject;
    if !view.queue(agent, 1)?.iter().any(is_urgent) {
        return Ok(Vec::new());
    }
    let rows = view.queue(agent, QUEUE_SCAN_MAX)?.into_iter();
    let joins = rows.filter(|row| row.not_before.is_none() && row.message.may_join(thread));
    let joins = joins.take(INTERJECTED_MAX);
    let mut interjections = Vec::new();
    for row in joins {
        let Message {
            run_key, body, cause, ..
        } = row.message;
        let bytes = view.blob(&body)?;
        // An unreadable body fails when the request is assembled.
        let blocks = bytes.and_then(|bytes| serde_json::from_slice::<Vec<Block>>(&bytes).ok());
        interjections.push(Interjection {
            run_key,
            body,
            sources: Sources::of_attachments(&blocks.unwrap_or_default()).joined(&cause.all_sources()),
        });
    }
    Ok(interjections)
}

/// Removes these messages from the queue and records that this run absorbed them. Returns a conflict if one
/// has left the queue meanwhile, because the prepared request contains it. Requires the agent's locked
/// head.
pub(crate) fn absorb_interjections(
    tx: &mut Tx<'_>,
    joined: &[RunKey],
    by: RunKey,
    at: Millis,
) -> Result<(), StoreError> {
    for run in joined {
        if !tx.is_queued(run)? {
            return Err(StoreError::Conflict);
        }
        let message = tx.message(run)?.ok_or(StoreError::Conflict)?;
        absorb(tx, &[message], by, at)?;
    }
    Ok(())
}
