//! Checks that cancellations and halts take effect in time.

use wakeful_core::run::RunOutcome;

use super::{Verdict, unless};
use crate::environment::LOOK_MS;
use crate::evidence::Evidence;
use crate::fault_plan::FaultKind;
use crate::ledger::{Begun, Ledger};

/// Maximum time until a model request, an action or a delay in progress is interrupted by a cancellation.
/// The promise is a tenth of a second.
const HEARD_MS_MAX: u64 = 100;

/// How long an action may continue after its process was asked to stop, from the engine's documentation.
const GRACE_MS: u64 = 3_000;

/// A request to end a run or a process.
struct Request {
    /// When it was made, or could first be noticed.
    asked_ms: u64,
    ended_ms: Option<u64>,
    /// How long one action may take to notice it.
    patience_ms: u64,
}

/// After a cancellation nothing new begins, and the run ends at the engine's next check.
pub(super) fn cancel_is_heard(evidence: &Evidence) -> Verdict {
    let ledger = &evidence.ledger;
    for run in &evidence.runs {
        let key = run.row.run_key;
        let asked_ms = ledger.cancels.get(&key).copied();
        let is_cancelled = matches!(run.turn.outcome(), Some(RunOutcome::Cancelled));
        unless(!is_cancelled || asked_ms.is_some(), || {
            format!("{key} was cancelled without a request")
        })?;
        let Some(asked_ms) = asked_ms else { continue };
        let own = |begun: &&Begun| {
            let mut steps = run.steps.iter();
            steps.any(|step| step.operation_id == begun.operation_id)
        };
        let acts: Vec<Begun> = ledger.begun.iter().filter(own).copied().collect();
        let ended = ledger.ended.get(&key).copied();
        // A process that is asked to stop waits for the current action without further checks.
        let is_halted = ledger.struck.iter().any(|(what, ..)| *what == FaultKind::Halt);
        // The cancellation cannot be noticed before the process that ended the run was started, nor by a
        // daemon before it polled.
        let born_ms = ended.map_or(0, |(born_ms, _)| born_ms);
        let looked_ms = ledger.looked.get(&key).copied();
        let looked_ms = looked_ms.filter(|looked_ms| *looked_ms <= asked_ms + LOOK_MS);
        let request = Request {
            asked_ms: asked_ms.max(born_ms).max(looked_ms.unwrap_or(0)),
            ended_ms: ended.filter(|_| !is_halted).map(|(_, ended_ms)| ended_ms),
            patience_ms: HEARD_MS_MAX,
        };
        begins_nothing(&acts, asked_ms)?;
        ends_soon(&acts, &request, ledger)?;
        hangs_up(&run.turn.model_ref, &request, ledger)?;
    }
    Ok(())
}

/// A model request in progress is dropped at the engine's next check.
fn hangs_up(model_ref: &str, request: &Request, ledger: &Ledger) -> Verdict {
    let hung_up = ledger.hung_up.get(model_ref).filter(|_| !is_held_up(ledger));
    let asked_ms = request.asked_ms;
    hung_up.map_or(Ok(()), |hung_up_ms| {
        unless(*hung_up_ms <= asked_ms + request.patience_ms, || {
            format!(
                "the run was cancelled at {asked_ms} ms, and the model request was dropped at {hung_up_ms} ms"
            )
        })
    })
}

/// After a halt a process begins nothing new, and ends as soon as its work in progress has ended.
pub(super) fn halt_is_heard(evidence: &Evidence) -> Verdict {
    let ledger = &evidence.ledger;
    for (life, asked_ms) in &ledger.halts {
        let acts = ledger.begun.iter().filter(|begun| begun.life == *life);
        let acts: Vec<Begun> = acts.copied().collect();
        begins_nothing(&acts, *asked_ms)?;
        let request = Request {
            asked_ms: *asked_ms,
            ended_ms: ledger.stopped.get(life).copied(),
            patience_ms: GRACE_MS,
        };
        ends_soon(&acts, &request, ledger)?;
    }
    Ok(())
}

/// Nothing begins after this time, except actions found begun that must be settled.
fn begins_nothing(acts: &[Begun], after_ms: u64) -> Verdict {
    let late = acts.iter().find(|begun| begun.fresh && begun.at_ms > after_ms);
    late.map_or(Ok(()), |late| {
        Err(format!(
            "begun after the end was requested at {after_ms} ms: {late:?}"
        ))
    })
}

/// Whether a process was prevented from checking.
fn is_held_up(ledger: &Ledger) -> bool {
    ledger.struck.iter().any(|(what, ..)| match what {
        FaultKind::Sleep | FaultKind::StoreFails => true,
        FaultKind::Crash | FaultKind::Halt | FaultKind::Cancel | FaultKind::Answer => false,
        // A run that is held or quarantined cannot notice a cancellation.
        FaultKind::Brake | FaultKind::Release | FaultKind::Poison | FaultKind::Loop | FaultKind::Jump => true,
    })
}

/// The end comes once the action in progress has noticed it, and every action found begun is settled.
fn ends_soon(acts: &[Begun], request: &Request, ledger: &Ledger) -> Verdict {
    let Some(ended_ms) = request.ended_ms.filter(|_| !is_held_up(ledger)) else {
        return Ok(());
    };
    let found = acts.iter().filter(|begun| !begun.fresh).count();
    let heard = u64::try_from(found).unwrap_or(u64::MAX).saturating_add(1);
    unless(ended_ms <= request.asked_ms + request.patience_ms * heard, || {
        format!(
            "the end was requested at {} ms and came at {ended_ms} ms",
            request.asked_ms
        )
    })
}
