//! Ending a run from the desk, or taking its message out of the queue.

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::{Event, Sealed};
use wakeful_core::time::Millis;
use wakeful_ports::records::RUN_OPEN;
use wakeful_ports::store::{StoreError, Tx};

use super::clerk::append;
use crate::cause::wake_row;
use crate::subrun::lock_with_parent;

/// What was decided about a message that a person took back before its turn came.
pub(super) const CALLED_OFF: &str = "cancelled";

/// What became of a wish to end a run.
pub(super) enum Called {
    Requested(AgentId),
    Off(AgentId, Box<Event>),
    TooLate,
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
    // Before the look at the queue: whoever begins this run holds the same lock while it does.
    let Some(mut head) = lock_with_parent(tx, &agent_id, parent.as_ref())? else {
        return Ok(Called::Unknown);
    };
    if !tx.is_queued(&run)? {
        let open = tx.run(&run)?.is_some_and(|row| row.status == RUN_OPEN);
        if open {
            tx.request_cancel(&run, at)?;
        }
        return Ok(if open {
            Called::Requested(agent_id)
        } else {
            Called::TooLate
        });
    }
    tx.dequeue(&agent_id, &run)?;
    let event = append(tx, &agent_id, &mut head, sealed)?;
    tx.put_wake(&wake_row(&message, CALLED_OFF, &[], at))?;
    if let Some(parent) = parent {
        tx.rouse_run(&parent.run_key)?;
    }
    Ok(Called::Off(agent_id, Box::new(event)))
}
