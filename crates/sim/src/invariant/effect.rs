//! What may take effect, and what may be said of it.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::key::{ActionBase, Digest};
use wakeful_core::run::Outcome;
use wakeful_core::step::{EffectClass, Status};
use wakeful_ports::records::StepRow;

use super::{Verdict, unless};
use crate::evidence::{Evidence, RunEvidence};
use crate::script::INVALID;

/// How often the engine looks for a request to end a run, from its own documentation.
const LOOK_MS: u64 = 500;

/// A plain action takes effect at most once, whoever says so and however often it was begun.
pub(super) fn no_plain_effect_twice(evidence: &Evidence) -> Verdict {
    let mut done = BTreeSet::new();
    for deed in &evidence.ledger.deeds {
        let is_first = done.insert(deed.operation_id);
        unless(is_first || deed.class != EffectClass::Plain, || {
            format!("{} took effect twice", deed.operation_id)
        })?;
    }
    Ok(())
}

/// What the store says of an action is true in the world: ok was done, failed was not.
pub(super) fn reported_ok_means_done(evidence: &Evidence) -> Verdict {
    for (step, class) in classified(evidence) {
        let count = evidence.ledger.count(step.operation_id);
        let is_true = match (step.status, class) {
            (Status::Ok, EffectClass::Plain) => count == 1,
            (Status::Ok, EffectClass::Idempotent | EffectClass::Internal) => count >= 1,
            (Status::OutcomeUnknown, EffectClass::Plain) => count <= 1,
            (Status::OutcomeUnknown, EffectClass::Idempotent | EffectClass::Internal) => false,
            (Status::Planned | Status::Denied, _) | (Status::Failed, EffectClass::Plain) => count == 0,
            // A sleeper may still do it, which is why its class is one that may be done again.
            (Status::Failed, EffectClass::Idempotent | EffectClass::Internal) => {
                count == 0 || evidence.ledger.has_sleepers()
            }
            (Status::Intended, _) => true,
        };
        unless(is_true, || {
            format!("{} took effect {count} times: {step:?}", step.name)
        })?;
    }
    Ok(())
}

/// What was done is written down, and its intent was before it was done.
pub(super) fn done_is_reported(evidence: &Evidence) -> Verdict {
    for deed in &evidence.ledger.deeds {
        let Some((run, step)) = evidence.step(deed.operation_id) else {
            return Err(format!("nothing is known of {}", deed.operation_id));
        };
        let is_said = match step.status {
            Status::Ok | Status::OutcomeUnknown => true,
            Status::Intended => run.is_open(),
            Status::Failed => deed.class == EffectClass::Idempotent && evidence.ledger.has_sleepers(),
            Status::Planned | Status::Denied => false,
        };
        unless(is_said && step.class == Some(deed.class), || {
            format!("it was done, but is kept as {step:?}")
        })?;
    }
    Ok(())
}

/// What policy or the checks refused never even begins. The world knows by itself what it forbids.
pub(super) fn nothing_refused_acts(evidence: &Evidence) -> Verdict {
    if let Some(complaint) = evidence.ledger.complaints.first() {
        return Err(complaint.clone());
    }
    for begun in &evidence.ledger.begun {
        let Some((run, step)) = evidence.step(begun.operation_id) else {
            return Err(format!("{} began without a step", begun.operation_id));
        };
        let refused = step.status == Status::Denied || step.reason == INVALID;
        let forbidden = ask_of(run).is_none_or(|ask| evidence.script.denied(ask).contains(&step.name));
        unless(!refused && !forbidden, || {
            format!("it was refused and began: {step:?}")
        })?;
    }
    Ok(())
}

/// Plain actions begin one by one, so a mishap can make at most one of them unknown.
pub(super) fn no_unknown_without_a_mishap(evidence: &Evidence) -> Verdict {
    let unknown = classified(evidence).filter(|(step, _)| step.status == Status::OutcomeUnknown);
    let (unknown, struck) = (unknown.count(), evidence.ledger.disturbances());
    unless(unknown <= struck, || {
        format!("{unknown} unknown outcomes after {struck} mishaps")
    })
}

/// Once an action is unknown, no later equal one of the same run is done.
pub(super) fn no_silent_repeat(evidence: &Evidence) -> Verdict {
    for run in &evidence.runs {
        let mut unknown: BTreeSet<ActionBase> = BTreeSet::new();
        for step in run.calls() {
            let Some(base) = step.base else {
                return Err(format!("an action without a base: {step:?}"));
            };
            let is_repeat = unknown.contains(&base) && evidence.ledger.count(step.operation_id) > 0;
            unless(!is_repeat, || {
                format!("done although its equal is unknown: {step:?}")
            })?;
            if step.status == Status::OutcomeUnknown {
                unknown.insert(base);
            }
        }
    }
    Ok(())
}

/// Before an outcome is called unknown, what was left of the action is ended.
pub(super) fn the_world_stands_still(evidence: &Evidence) -> Verdict {
    for (step, _) in classified(evidence).filter(|(step, _)| step.status == Status::OutcomeUnknown) {
        let cleared = evidence.ledger.cleared.contains(&step.operation_id);
        unless(cleared, || format!("unknown, and still going on: {step:?}"))?;
    }
    Ok(())
}

/// A process that knows that it lost its lease begins nothing.
pub(super) fn nobody_acts_without_its_lease(evidence: &Evidence) -> Verdict {
    let late = evidence.ledger.begun.iter().find(|begun| !begun.leased);
    late.map_or(Ok(()), |begun| {
        Err(format!("begun by a process without a lease: {begun:?}"))
    })
}

/// After a request to end a run nothing new begins, and the run is over as soon as the engine has looked.
pub(super) fn cancel_is_heard(evidence: &Evidence) -> Verdict {
    for run in &evidence.runs {
        let key = run.row.run_key;
        let asked_ms = evidence.ledger.cancels.get(&key).copied();
        let is_cancelled = matches!(run.turn.outcome(), Some(Outcome::Cancelled));
        unless(!is_cancelled || asked_ms.is_some(), || {
            format!("nobody asked for the end of {key}")
        })?;
        let Some(asked_ms) = asked_ms else { continue };
        let acts: Vec<_> = evidence
            .ledger
            .begun
            .iter()
            .filter(|begun| {
                run.steps
                    .iter()
                    .any(|step| step.operation_id == begun.operation_id)
            })
            .collect();
        if let Some(late) = acts.iter().find(|begun| begun.fresh && begun.at_ms > asked_ms) {
            return Err(format!("its run was to end at {asked_ms} ms: {late:?}"));
        }
        let Some(ended_ms) = evidence.ledger.ended.get(&key) else {
            continue;
        };
        // Every action that was already under way may take until the next look.
        let looks = u64::try_from(acts.len()).unwrap_or(u64::MAX).saturating_add(1);
        let latest_ms = asked_ms.max(evidence.last_birth_ms) + LOOK_MS * looks;
        unless(*ended_ms <= latest_ms || evidence.ledger.has_sleepers(), || {
            format!("asked to end at {asked_ms} ms, {key} ended at {ended_ms} ms")
        })?;
    }
    Ok(())
}

/// The same operation id is always the same action, and the same request is always the same words: what a
/// process loads after a death is what the one before it had in memory.
pub(super) fn names_keep_their_meaning(evidence: &Evidence) -> Verdict {
    if let Some(operation_id) = ambiguous(&evidence.ledger.meanings) {
        return Err(format!("operation {operation_id} stood for two actions"));
    }
    if let Some((ask, request)) = ambiguous(&evidence.ledger.requests) {
        return Err(format!(
            "request {request} of ask {ask} was sent with other words"
        ));
    }
    Ok(())
}

fn ambiguous<K>(seen: &BTreeMap<K, BTreeSet<Digest>>) -> Option<&K> {
    seen.iter().find(|(_, seen)| seen.len() > 1).map(|(name, _)| name)
}

/// The tool calls of all runs with their classes.
fn classified(evidence: &Evidence) -> impl Iterator<Item = (&StepRow, EffectClass)> {
    let calls = evidence.runs.iter().flat_map(RunEvidence::calls);
    calls.filter_map(|step| Some((step, step.class?)))
}

/// Which ask a run answers.
fn ask_of(run: &RunEvidence) -> Option<u32> {
    run.turn.model_ref.strip_prefix("sim:")?.parse().ok()
}
