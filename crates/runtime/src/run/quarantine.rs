//! Runs that cannot go on. They are moved aside, so that they neither stand in their agent's way nor are lost: a person
//! has them tried again, or gives them up.

use wakeful_core::key::RunKey;
use wakeful_core::report::payload::{RunFault, RunQuarantined};
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::run::{RunStatus, is_newer};
use wakeful_store::rows::DecisionFilter;
use wakeful_store::{ROWS_MAX, Store, StoreError, Tx};

use super::broken;
use crate::{EngineError, Stamp};
use wakeful_core::problem::Problem;

/// How often a run may be taken up without moving, before it counts as one that ends whoever takes it up.
pub const CLAIMS_MAX: u32 = 10;

/// Moves a run aside if the error says that it can never go on as it is. The event that tells of it, or none where the
/// run is left as it is.
pub async fn quarantine(
    store: &Store,
    run: RunKey,
    error: &EngineError,
    stamp: Stamp,
) -> Result<Option<Event>, EngineError> {
    if run_to_quarantine(error) != Some(run) {
        return Ok(None);
    }
    let Problem { code, message, .. } = error.into();
    let fault = RunFault {
        code: code.into_owned(),
        why: message,
    };
    let kept = fault.to_json();
    let draft = EventDraft::new(RunQuarantined { run_key: run, fault });
    let sealed = stamp.seal(draft, Some(run)).map_err(|e| broken(run, &e))?;
    Ok(store
        .write(move |tx| quarantine_in(tx, run, &kept, &sealed))
        .await?)
}

/// Why a run stands aside, as a sentence. What is no record of ours is told as it stands.
#[must_use]
pub fn describe_fault(fault: &str) -> String {
    match serde_json::from_str(fault) {
        Ok(RunFault { code, why }) => format!("{why} ({code})"),
        Err(_) => fault.to_owned(),
    }
}

/// The run that can never go on by itself, if an error tells of one.
#[must_use]
pub fn run_to_quarantine(error: &EngineError) -> Option<RunKey> {
    if let EngineError::InvalidState { run, .. } | EngineError::CrashLoop { run, .. } = error {
        return Some(*run);
    }
    // What a newer program began goes on there.
    if let EngineError::MachineVersion {
        run,
        machine,
        version,
    } = error
        && !is_newer(machine, *version)
    {
        return Some(*run);
    }
    None
}

/// Whether what kept a run from moving lies in the place and not in the run: then nobody counts that it did not move.
#[must_use]
pub const fn is_environment_error(error: &EngineError) -> bool {
    use StoreError::{Closed, Device, FenceLost, Full, ReadOnly, Unreachable};
    matches!(
        error,
        EngineError::LeaseLost(_)
            | EngineError::Store(Full | ReadOnly | Unreachable(_) | FenceLost(_) | Closed | Device(_))
    )
}

fn quarantine_in(
    tx: &mut Tx<'_>,
    run: RunKey,
    fault: &str,
    sealed: &SealedEvent,
) -> Result<Option<Event>, StoreError> {
    let Some(row) = tx.run(&run)?.filter(|row| row.status == RunStatus::Open) else {
        return Ok(None);
    };
    let Some(mut head) = tx.lock_head_to_announce(&row.agent_id)? else {
        return Ok(None);
    };
    if !tx.set_run_status(&run, RunStatus::Quarantined, Some(fault), sealed.at)? {
        return Ok(None);
    }
    // Nobody knows the end of what it asked for, so all of it counts; and nobody has to answer its questions.
    tx.settle_run(&run)?;
    let open = DecisionFilter {
        pending_only: true,
        run_key: Some(run),
        limit: ROWS_MAX,
    };
    for decision in tx.decisions(&open)? {
        tx.put_decision(&decision.withdrawn(sealed.at), decision.version)?;
    }
    let event = head.chain(&row.agent_id, sealed.clone());
    tx.append_event(&row.agent_id, &event)?;
    tx.put_head(&row.agent_id, &head)?;
    Ok(Some(event))
}
