//! Ending a run from the desk, or taking its message out of the queue.

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::{Event, Sealed};
use wakeful_core::time::Millis;
use wakeful_ports::records::{RUN_OPEN, RUN_QUARANTINED};
use wakeful_ports::store::{StoreError, Tx};

use crate::subrun::{lock_all, take_back};

/// What became of a wish to end a run.
pub(super) enum Called {
    Requested(AgentId),
    Off(AgentId, Box<Event>),
    TooLate,
    /// It stands aside, for this reason: it has not ended, and nobody drives it.
    Aside(Option<String>),
    Unknown,
}

/// Takes a message out of the queue, or asks whoever drives its run to end it.
pub(super) fn call_off_in(
    tx: &mut dyn Tx,
    run: RunKey,
    sealed: &Sealed,
    at: Millis,
) -> Result<Called, StoreError> {
    let Some(message) = tx.message(&run)? else {
        return Ok(Called::Unknown);
    };
    let (agent_id, parent) = (message.agent_id.clone(), message.parent.clone());
    let waiting = parent.as_ref().map(|parent| parent.agent_id.clone());
    // Before the look at the queue: whoever begins this run holds the same lock while it does.
    let mut heads = lock_all(tx, &waiting.into_iter().chain([agent_id.clone()]).collect())?;
    let Some(head) = heads.get_mut(&agent_id) else {
        return Ok(Called::Unknown);
    };
    if !tx.is_queued(&run)? {
        return Ok(match tx.run(&run)? {
            Some(row) if row.status == RUN_OPEN => {
                tx.request_cancel(&run, at)?;
                Called::Requested(agent_id)
            }
            Some(row) if row.status == RUN_QUARANTINED => Called::Aside(row.fault),
            Some(_) | None => Called::TooLate,
        });
    }
    let event = take_back(tx, &message, head, (sealed, &[]))?;
    if let Some(parent) = parent {
        tx.rouse_run(&parent.run_key)?;
    }
    Ok(Called::Off(agent_id, Box::new(event)))
}
