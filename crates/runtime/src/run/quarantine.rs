//! Quarantines runs that cannot continue, so that they neither block their agent nor get lost: a person
//! resumes or abandons them.

use wakeful_core::key::RunKey;
use wakeful_core::report::payload::{RunFault, RunQuarantined};
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::run::{RunStatus, is_newer};
use wakeful_store::rows::DecisionFilter;
use wakeful_store::{ROWS_MAX, Store, StoreError, Tx};

use super::broken;
use crate::{EngineError, Stamp};
use wakeful_core::problem::Problem;

/// Maximum number of claims without progress, before a run counts as one that crashes its process.
pub const CLAIMS_MAX: u32 = 10;

/// Quarantines a run if the error shows that it cannot continue. Returns the recorded event, or none if the
/// run is unchanged.
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

/// Describes why a run is quarantined. Text that is not a `RunFault` is returned unchanged.
#[must_use]
pub fn describe_fault(fault: &str) -> String {
    match serde_json::from_str(fault) {
        Ok(RunFault { code, why }) => format!("{why} ({code})"),
        Err(_) => fault.to_owned(),
    }
}

/// The run that can never continue by itself, if the error concerns one.
#[must_use]
pub fn run_to_quarantine(error: &EngineError) -> Option<RunKey> {
    if let EngineError::InvalidState { run, .. } | EngineError::CrashLoop { run, .. } = error {
        return Some(*run);
    }
    // A newer program version can continue the run.
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

/// Whether the cause is the environment and not the run: then the claim does not count as one without
/// progress.
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
    // The outcomes of its requests are unknown, so their reservations count as spent; its open decisions
    // are withdrawn.
    tx.settle_holds_of_run(&run, sealed.at)?;
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
