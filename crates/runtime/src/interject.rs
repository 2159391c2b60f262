//! What a person says into a run that is under way: it joins between what tools did and the next request, in the
//! transaction that intends that request. So it is told once, and its record says by which run it was taken up.

use wakeful_core::cause::{INTERJECTED_MAX, Priority};
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::RunKey;
use wakeful_core::run::Interjection;
use wakeful_core::time::Millis;
use wakeful_store::rows::QueueRow;
use wakeful_store::{StoreError, Tx, View};

use crate::absorb::absorb;

/// How far down the line is looked for what may join: not every interjection may.
const QUEUE_SCAN_MAX: u32 = 64;

/// Whether somebody may have said something into the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterjectionHint {
    /// Nobody has looked: the transaction does, and stops where there is something.
    Maybe,
    /// What is known of is all that counts.
    Known,
}

/// What waits for an agent and may join its run, in its order: what belongs to another line of conversation waits for a run
/// of its own. Interjections stand first in line, so that one look at its head is enough where there are none.
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
    let joins = joins.map(|row| Interjection {
        run_key: row.message.run_key,
        body: row.message.body,
    });
    Ok(joins.collect())
}

/// Takes these out of the queue: this run answers them. One that has gone meanwhile is a conflict, because the run was
/// about to be told of it. With the agent's head.
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
