//! That a request to end something is heard, and soon.

use wakeful_core::run::RunOutcome;

use super::{Verdict, unless};
use crate::environment::LOOK_MS;
use crate::evidence::Evidence;
use crate::fault_plan::FaultKind;
use crate::ledger::{Begun, Ledger};

/// How long a request to end a run may go unheard by what is under way, be it a model, an action or a pause: a tenth of a
/// second is promised, whatever the engine does to keep it.
const HEARD_MS_MAX: u64 = 100;

/// How long an action may go on after its process was asked to stop, from the engine's own documentation.
const GRACE_MS: u64 = 3_000;

/// A request to end something.
struct Request {
    /// When it was made, or could first be heard.
    asked_ms: u64,
    /// When the end came.
    ended_ms: Option<u64>,
    /// How long one action may take to hear of it.
    patience_ms: u64,
}

/// After a request to end a run nothing new begins, and the run is over as soon as the engine has looked.
pub(super) fn cancel_is_heard(evidence: &Evidence) -> Verdict {
    let ledger = &evidence.ledger;
    for run in &evidence.runs {
        let key = run.row.run_key;
        let asked_ms = ledger.cancels.get(&key).copied();
        let is_cancelled = matches!(run.turn.outcome(), Some(RunOutcome::Cancelled));
        unless(!is_cancelled || asked_ms.is_some(), || {
            format!("nobody asked for the end of {key}")
        })?;
        let Some(asked_ms) = asked_ms else { continue };
        let own = |begun: &&Begun| {
            let mut steps = run.steps.iter();
            steps.any(|step| step.operation_id == begun.operation_id)
        };
        let acts: Vec<Begun> = ledger.begun.iter().filter(own).copied().collect();
        let ended = ledger.ended.get(&key).copied();
        // A process that is asked to stop waits for the action at hand without looking any more.
        let is_halted = ledger.struck.iter().any(|(what, ..)| *what == FaultKind::Halt);
        // Nobody could hear of it before the process was born that ended the run, nor a daemon before it looked.
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

/// A request to the model that was under way is given up as soon as the engine has looked.
fn hangs_up(model_ref: &str, request: &Request, ledger: &Ledger) -> Verdict {
    let hung_up = ledger.hung_up.get(model_ref).filter(|_| !is_held_up(ledger));
    let asked_ms = request.asked_ms;
    hung_up.map_or(Ok(()), |hung_up_ms| {
        unless(*hung_up_ms <= asked_ms + request.patience_ms, || {
            format!("the end was asked for at {asked_ms} ms, and the model heard of it at {hung_up_ms} ms")
        })
    })
}

/// After a process was asked to stop it begins nothing new, and is gone as soon as what was under way is over.
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

/// Nothing begins after a moment, but for what was found begun and has to be settled.
fn begins_nothing(acts: &[Begun], after_ms: u64) -> Verdict {
    let late = acts.iter().find(|begun| begun.fresh && begun.at_ms > after_ms);
    late.map_or(Ok(()), |late| {
        Err(format!("the end was asked for at {after_ms} ms: {late:?}"))
    })
}

/// Whether somebody could not look.
fn is_held_up(ledger: &Ledger) -> bool {
    ledger.struck.iter().any(|(what, ..)| match what {
        FaultKind::Sleep | FaultKind::StoreFails => true,
        FaultKind::Crash | FaultKind::Halt | FaultKind::Cancel | FaultKind::Answer => false,
        // A run that is held, or stands aside, is not there to hear.
        FaultKind::Brake | FaultKind::Release | FaultKind::Poison | FaultKind::Loop | FaultKind::Jump => true,
    })
}

/// The end comes when the action under way has heard of it, and everything that was found begun.
fn ends_soon(acts: &[Begun], request: &Request, ledger: &Ledger) -> Verdict {
    let Some(ended_ms) = request.ended_ms.filter(|_| !is_held_up(ledger)) else {
        return Ok(());
    };
    let found = acts.iter().filter(|begun| !begun.fresh).count();
    let heard = u64::try_from(found).unwrap_or(u64::MAX).saturating_add(1);
    unless(ended_ms <= request.asked_ms + request.patience_ms * heard, || {
        format!(
            "the end was asked for at {} ms and came at {ended_ms} ms",
            request.asked_ms
        )
    })
}
