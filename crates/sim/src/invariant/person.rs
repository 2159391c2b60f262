//! Invariants about people: nothing acts under a brake or without approval, an answer counts once, and
//! every wait can end.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::decision::{APPROVAL_MS_MAX, APPROVE, Decision, DecisionStatus};
use wakeful_core::key::{DecisionId, OperationId};
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::Payload;
use wakeful_core::run::RunStatus;
use wakeful_core::step::StepStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::Wait;

use super::effect::ask_of;
use super::{Verdict, unless};
use crate::environment::BEGINNING;
use crate::evidence::{Evidence, Moment, RunEvidence};
use crate::ledger::Begun;

/// Maximum time after a brake's acknowledgement in which something may begin, as the engine promises.
const BRAKE_MS: u64 = 100;

/// Maximum time between the check of an approval and the action: the delay that a tool requested and the
/// actions before it.
const USE_MS: u64 = 120_000;

/// Once a brake is acknowledged, no tool is called until its release, and nothing begins later than
/// `BRAKE_MS` after it. A process that was suspended cannot know.
pub(super) fn nothing_acts_after_a_brake(evidence: &Evidence) -> Verdict {
    let ledger = &evidence.ledger;
    if let Some(late) = ledger.begun.iter().find(|begun| begun.braked && !begun.slept) {
        return Err(format!("begun under a brake: {late:?}"));
    }
    let acts = ledger.begun.iter().map(|begun| (begun.at_ms, begun.slept));
    let sent = ledger.sent.iter().map(|sent| (sent.at_ms, sent.slept));
    for (at_ms, _) in acts.chain(sent).filter(|(_, slept)| !slept) {
        let held = ledger.brakes.iter().find(|held| {
            at_ms > held.from_ms + BRAKE_MS && held.until_ms.is_none_or(|until_ms| at_ms < until_ms)
        });
        if let Some(held) = held {
            return Err(format!("something began at {at_ms} ms under {held:?}"));
        }
    }
    Ok(())
}

/// An action that needs approval begins only after a person approved exactly this action, and before the
/// approval expires.
pub(super) fn nothing_acts_unasked(evidence: &Evidence) -> Verdict {
    for begun in &evidence.ledger.begun {
        let Some((run, step)) = evidence.step(begun.operation_id) else {
            return Err(format!("{} began without a step", begun.operation_id));
        };
        let is_listed = ask_of(run).is_some_and(|ask| evidence.script.asked(ask).contains(&step.name));
        let is_asked = questions(run, begun.operation_id).next().is_some();
        let permits = |one: &&Decision| is_permission(evidence, one, begun);
        unless(
            !(is_listed || is_asked) || questions(run, begun.operation_id).any(|one| permits(&one)),
            || {
                let asked: Vec<_> = questions(run, begun.operation_id).collect();
                format!("it needs an approval and has begun: {begun:?} with {asked:?}")
            },
        )?;
    }
    Ok(())
}

/// Whether a question is answered with an approval that covers an action as it was begun.
fn is_permission(evidence: &Evidence, question: &Decision, begun: &Begun) -> bool {
    let Some(answer) = question.answer.as_ref().filter(|answer| answer.option == APPROVE) else {
        return false;
    };
    let shown = (question.inquiry.tool.clone(), question.inquiry.input.clone());
    let is_about_it = evidence.ledger.words.get(&begun.operation_id) == Some(&shown);
    let said = (question.inquiry.decision_id, answer.option.clone());
    let began_at = BEGINNING
        .0
        .saturating_add(i64::try_from(begun.at_ms).unwrap_or(i64::MAX));
    let stands_ms = i64::try_from(APPROVAL_MS_MAX + USE_MS).unwrap_or(i64::MAX);
    // An action found begun is settled, however long that takes.
    let stands = !begun.fresh || begun.slept || begun.wall < Millis(answer.at.0.saturating_add(stands_ms));
    is_about_it && evidence.ledger.said.contains(&said) && answer.at.0 <= began_at && stands
}

/// The questions about one action.
pub(super) fn questions(run: &RunEvidence, about: OperationId) -> impl Iterator<Item = &Decision> {
    let all = run.decisions.iter();
    all.filter(move |one| one.inquiry.operation_id == about)
}

/// A run that ended or is quarantined has no open question.
pub(super) fn no_question_outlives_its_run(evidence: &Evidence) -> Verdict {
    for run in evidence.runs.iter().filter(|run| !run.is_open()) {
        let mut open = run.decisions.iter();
        let open = open.find(|one| one.status == DecisionStatus::Pending);
        unless(open.is_none(), || {
            format!("the run is {} and has an open question: {open:?}", run.row.status)
        })?;
    }
    Ok(())
}

/// A question has at most one answer: one that a person gave, that was acknowledged, and that the log
/// contains.
pub(super) fn answers_are_given_once(evidence: &Evidence) -> Verdict {
    let ledger = &evidence.ledger;
    let all = evidence.runs.iter().flat_map(|run| &run.decisions);
    let kept: BTreeMap<DecisionId, &Decision> = all.map(|one| (one.inquiry.decision_id, one)).collect();
    let mut told = BTreeSet::new();
    for answer in &ledger.answers {
        unless(told.insert(answer.decision_id), || {
            format!("a second answer was accepted: {answer:?}")
        })?;
        let found = kept.get(&answer.decision_id).and_then(|one| one.answer.as_ref());
        unless(found.is_some_and(|found| found.option == answer.option), || {
            format!("{answer:?} was accepted, and {found:?} is stored")
        })?;
    }
    for one in kept.values() {
        let given = one.answer.as_ref().map(|answer| answer.option.clone());
        let is_true = given.is_none_or(|given| ledger.said.contains(&(one.inquiry.decision_id, given)));
        unless(
            is_true && one.answer.is_some() == (one.status == DecisionStatus::Answered),
            || format!("no person gave this answer: {one:?}"),
        )?;
    }
    let mut closed = BTreeSet::new();
    for event in evidence
        .events
        .iter()
        .filter(|event| event.kind == EventKind::DecisionAnswered.as_str())
    {
        let id = match event.body().map(|body| body.payload) {
            Some(Payload::DecisionAnswered(answered)) => Some(answered.decision_id),
            _ => None,
        };
        unless(closed.insert(id), || format!("the log closes {id:?} twice"))?;
    }
    Ok(())
}

/// An open run waits for something that can still happen; at the end every run has ended.
pub(super) fn every_run_ends_or_is_resumable(evidence: &Evidence) -> Verdict {
    for run in &evidence.runs {
        let (key, row) = (run.row.run_key, &run.row);
        if row.status == RunStatus::Quarantined {
            unless(row.fault.is_some(), || {
                format!("{key} is quarantined without a reason")
            })?;
        }
        let is_over = !run.is_open() && row.status != RunStatus::Quarantined;
        unless(is_over || evidence.moment == Moment::Midway, || {
            format!("{key} is {} at the end", row.status)
        })?;
        if !run.is_open() {
            continue;
        }
        let waits_on = run.turn.waits_on();
        let asked = waits_on.and_then(|id| run.decisions.iter().find(|one| one.inquiry.decision_id == id));
        let can_come = asked.is_some_and(|one| one.status == DecisionStatus::Pending);
        let is_untimed = matches!(row.wait(), Some(Wait::Decision { until: None } | Wait::Children));
        unless(!is_untimed || can_come, || {
            format!("{key} waits forever for an answer that cannot come: {asked:?}")
        })?;
        unless(waits_on.is_none() || asked.is_some(), || {
            format!("{key} waits for a question that does not exist")
        })?;
        unless(
            !(run.is_called_off && waits_on.is_some() && row.suspension.is_some()),
            || format!("{key} was cancelled and still waits: {:?}", row.suspension),
        )?;
    }
    Ok(())
}

/// While no request is in progress, no money is reserved.
pub(super) fn reservations_are_zero_at_rest(evidence: &Evidence) -> Verdict {
    let asks = |run: &RunEvidence| {
        let mut steps = run.steps.iter();
        run.is_open() && steps.any(|step| step.class.is_none() && step.status == StepStatus::Intended)
    };
    let reserved: u64 = evidence.spent.iter().map(|day| day.reserved.0).sum();
    unless(reserved == 0 || evidence.runs.iter().any(asks), || {
        format!("{reserved} are reserved without a request in progress")
    })
}
