//! Invariants about effects: which may happen, and what may be reported about them.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::decision::{APPROVE, Decision};
use wakeful_core::key::{ActionBase, Digest};
use wakeful_core::run::{DECISION_TIMED_OUT, DENIED_BY_PERSON};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_store::rows::StepRow;

use super::person::questions;
use super::{Verdict, unless};
use crate::evidence::{Evidence, RunEvidence};
use crate::ledger::Deed;
use crate::script::INVALID;

/// The error code for a call beyond the limit of one round.
const TOO_MANY: &str = "too_many_calls";

/// A plain action takes effect at most once, however often it was begun.
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

/// The stored status of an action is true: `ok` was done, `failed` was not.
pub(super) fn reported_ok_means_done(evidence: &Evidence) -> Verdict {
    for (run, step, class) in classified(evidence) {
        let count = evidence.ledger.count(step.operation_id);
        let is_true = match (step.status, class) {
            (StepStatus::Ok | StepStatus::Partial, EffectClass::Plain) => count == 1,
            (
                StepStatus::Ok | StepStatus::Partial,
                EffectClass::Idempotent | EffectClass::Internal | EffectClass::Saga,
            ) => count >= 1,
            (StepStatus::OutcomeUnknown, EffectClass::Plain) => count <= 1,
            (
                StepStatus::OutcomeUnknown,
                EffectClass::Idempotent | EffectClass::Internal | EffectClass::Saga,
            ) => false,
            // A suspended process may still perform it; its class permits a repetition.
            (StepStatus::Failed, EffectClass::Idempotent | EffectClass::Internal | EffectClass::Saga) => {
                count == 0 || evidence.ledger.has_sleepers()
            }
            (StepStatus::Failed, EffectClass::Plain) => count == 0,
            (StepStatus::Planned | StepStatus::WaitingForApproval | StepStatus::Denied, _) => {
                let mut deeds = evidence.ledger.deeds.iter();
                deeds.all(|deed| deed.operation_id != step.operation_id || may_be_a_sleepers(deed, run, step))
            }
            (StepStatus::Intended, _) => true,
        };
        unless(is_true, || {
            format!("{} took effect {count} times: {step:?}", step.name)
        })?;
    }
    Ok(())
}

/// Every effect is stored, and its intent was stored before it.
pub(super) fn done_is_reported(evidence: &Evidence) -> Verdict {
    for deed in &evidence.ledger.deeds {
        let Some((run, step)) = evidence.step(deed.operation_id) else {
            return Err(format!("{} has no stored step", deed.operation_id));
        };
        let is_said = match step.status {
            StepStatus::Ok | StepStatus::Partial | StepStatus::OutcomeUnknown => true,
            StepStatus::Intended => run.is_open() || run.is_quarantined(),
            StepStatus::Failed => deed.class == EffectClass::Idempotent && evidence.ledger.has_sleepers(),
            StepStatus::Planned | StepStatus::WaitingForApproval | StepStatus::Denied => {
                may_be_a_sleepers(deed, run, step)
            }
        };
        unless(is_said && step.class == Some(deed.class), || {
            format!("it was done, but is stored as {step:?}")
        })?;
    }
    Ok(())
}

/// Whether a process that had been suspended performed an action that was to be retried: it had failed
/// temporarily, and waits or was refused when a person was asked again.
fn may_be_a_sleepers(deed: &Deed, run: &RunEvidence, step: &StepRow) -> bool {
    let is_unstarted = matches!(step.status, StepStatus::Planned | StepStatus::WaitingForApproval);
    let waits = is_unstarted && step.class == Some(EffectClass::Idempotent);
    deed.slept && (waits || is_refused_later(run, step))
}

/// No port detected an invalid call.
pub(super) fn no_unexpected_error(evidence: &Evidence) -> Verdict {
    evidence
        .ledger
        .complaints
        .first()
        .map_or(Ok(()), |complaint| Err(complaint.clone()))
}

/// Actions refused by policy, the checks or a person never begin. The environment knows independently what
/// it forbids.
///
/// Every begun action has an intent, which a refused step never gets again; a process that was suspended
/// cannot know. So only one kind of begun step may be refused at the end: a person permitted it, it failed
/// temporarily, and a person was asked again because the approval had expired before the retry.
pub(super) fn nothing_refused_acts(evidence: &Evidence) -> Verdict {
    for begun in &evidence.ledger.begun {
        let Some((run, step)) = evidence.step(begun.operation_id) else {
            return Err(format!("{} began without a step", begun.operation_id));
        };
        let refused =
            step.status == StepStatus::Denied || [INVALID, TOO_MANY].contains(&step.reason.as_str());
        let forbidden = ask_of(run).is_none_or(|ask| evidence.script.denied(ask).contains(&step.name));
        let refused = refused && !is_refused_later(run, step);
        unless(!refused && !forbidden, || {
            format!("it was refused and has begun: {step:?}")
        })?;
        unless(begun.intended || begun.slept, || {
            format!("it began without an intent: {begun:?} of {step:?}")
        })?;
    }
    Ok(())
}

/// Whether a step was permitted before it was refused, and may have begun in between.
fn is_refused_later(run: &RunEvidence, step: &StepRow) -> bool {
    let by_person = [DENIED_BY_PERSON, DECISION_TIMED_OUT].contains(&step.reason.as_str());
    let is_yes = |one: &Decision| one.answer.as_ref().is_some_and(|answer| answer.option == APPROVE);
    let asked = || questions(run, step.operation_id);
    let is_asked_again = asked().any(is_yes) && asked().any(|one| !is_yes(one));
    step.class == Some(EffectClass::Idempotent)
        && step.status == StepStatus::Denied
        && by_person
        && is_asked_again
}

/// Plain actions begin one by one, so a fault can make at most one of them unknown; the others are those
/// whose tool cannot determine the outcome.
pub(super) fn no_unknown_without_a_mishap(evidence: &Evidence) -> Verdict {
    let unknown = unknown(evidence).filter(|step| !evidence.ledger.unsure.contains(&step.operation_id));
    let (unknown, struck) = (unknown.count(), evidence.ledger.disturbances());
    unless(unknown <= struck, || {
        format!("{unknown} unknown outcomes after {struck} faults")
    })
}

/// After an action with an unknown outcome, a later equal action of the same run needs a person's approval.
pub(super) fn no_silent_repeat(evidence: &Evidence) -> Verdict {
    for run in &evidence.runs {
        let mut unknown: BTreeSet<ActionBase> = BTreeSet::new();
        for step in run.calls() {
            let Some(base) = step.base else {
                return Err(format!("an action without a base: {step:?}"));
            };
            let is_said = |one: &Decision| one.answer.as_ref().is_some_and(|answer| answer.option == APPROVE);
            let is_permitted = questions(run, step.operation_id).any(is_said);
            let is_repeat =
                unknown.contains(&base) && evidence.ledger.count(step.operation_id) > 0 && !is_permitted;
            unless(!is_repeat, || {
                format!("done although an equal action is unknown: {step:?}")
            })?;
            if step.status == StepStatus::OutcomeUnknown {
                unknown.insert(base);
            }
        }
    }
    Ok(())
}

/// Before an outcome is stored as unknown, the remains of the action are ended, unless a person abandoned
/// the run.
pub(super) fn the_world_stands_still(evidence: &Evidence) -> Verdict {
    for step in unknown(evidence).filter(|step| step.duration_ms.is_some()) {
        let is_over = evidence.ledger.unsure.contains(&step.operation_id);
        let cleared = evidence.ledger.cleared.contains(&step.operation_id);
        unless(is_over || cleared, || {
            format!("unknown, and still in progress: {step:?}")
        })?;
    }
    Ok(())
}

/// A process that knows that it lost its lease begins nothing.
pub(super) fn no_action_without_lease(evidence: &Evidence) -> Verdict {
    let late = evidence.ledger.begun.iter().find(|begun| !begun.leased);
    late.map_or(Ok(()), |begun| {
        Err(format!("begun by a process without a lease: {begun:?}"))
    })
}

/// An operation id always names the same action, and a request number always the same request: a process
/// loads after a crash what the previous one had in memory.
pub(super) fn names_keep_their_meaning(evidence: &Evidence) -> Verdict {
    if let Some(operation_id) = ambiguous(&evidence.ledger.meanings) {
        return Err(format!("operation {operation_id} stood for two actions"));
    }
    if let Some((ask, request)) = ambiguous(&evidence.ledger.requests) {
        return Err(format!(
            "request {request} of ask {ask} was sent with different content"
        ));
    }
    Ok(())
}

fn ambiguous<K>(seen: &BTreeMap<K, BTreeSet<Digest>>) -> Option<&K> {
    seen.iter().find(|(_, seen)| seen.len() > 1).map(|(name, _)| name)
}

/// The tool calls with an unknown outcome.
fn unknown(evidence: &Evidence) -> impl Iterator<Item = &StepRow> {
    let calls = evidence.runs.iter().flat_map(RunEvidence::calls);
    calls.filter(|step| step.status == StepStatus::OutcomeUnknown)
}

/// The tool calls of all runs with their effect classes.
fn classified(evidence: &Evidence) -> impl Iterator<Item = (&RunEvidence, &StepRow, EffectClass)> {
    let of_run = |run| RunEvidence::calls(run).map(move |step| (run, step));
    let calls = evidence.runs.iter().flat_map(of_run);
    calls.filter_map(|(run, step)| Some((run, step, step.class?)))
}

/// The ask that a run answers.
pub(super) fn ask_of(run: &RunEvidence) -> Option<u32> {
    run.turn.model_ref.strip_prefix("sim:")?.parse().ok()
}
