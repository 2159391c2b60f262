//! Tests the invariants about people on tampered evidence.

use wakeful_core::decision::{APPROVAL_MS_MAX, APPROVE, DENY, Decision, DecisionStatus};
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::report::EventKind;
use wakeful_core::run::{DENIED_BY_PERSON, RunStatus};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Suspension, Wait};

use super::{ALL, Verdict, judge};
use crate::evidence::{Evidence, Moment};
use crate::fault_plan::FaultPlan;
use crate::ledger::{Begun, Deed, Held};
use crate::simulate::evidence_of;

/// Evidence with an approved and performed action, and with a brake.
fn peopled() -> Evidence {
    // One of the first seeds is known to match. If that changes, the search continues with other seeds.
    let known = PEOPLED.iter().map(|seed| FaultPlan::drawn(*seed));
    let mut worlds = known
        .chain((0..).map(FaultPlan::drawn))
        .filter_map(|schedule| evidence_of(&schedule).ok());
    worlds.find(is_peopled).expect("there are endless seeds")
}

const PEOPLED: [u64; 9] = [0x12e, 0x1, 0x11, 0x88, 0xbe, 0xef, 0x14e, 0x153, 0x15a];

fn is_peopled(evidence: &Evidence) -> bool {
    let braked = evidence.ledger.brakes.iter().any(|held| held.until_ms.is_some());
    let permitted = permitted(evidence).is_some_and(|(begun, _)| begun.fresh && !begun.slept);
    permitted && braked && !evidence.ledger.answers.is_empty() && evidence.ledger.poisons.is_empty()
}

/// An action that was begun after its approval.
fn permitted(evidence: &Evidence) -> Option<(Begun, Decision)> {
    evidence.ledger.begun.iter().find_map(|begun| {
        let all = evidence.runs.iter().flat_map(|run| &run.decisions);
        let mut about = all.filter(|one| one.inquiry.operation_id == begun.operation_id);
        let yes = about.find(|one| one.answer.as_ref().is_some_and(|answer| answer.option == APPROVE))?;
        Some((*begun, yes.clone()))
    })
}

/// The verdict of an invariant on this evidence after a change.
fn tampered(name: &str, tamper: impl FnOnce(&mut Evidence)) -> Verdict {
    let mut evidence = peopled();
    judge(&evidence).expect("nothing is wrong before");
    tamper(&mut evidence);
    let invariant = ALL.iter().find(|invariant| invariant.name == name);
    (invariant.expect("an invariant of that name").holds)(&evidence)
}

/// Changes every question about the approved action.
fn about_it(evidence: &mut Evidence, change: impl Fn(&mut Decision)) {
    let (begun, _) = permitted(evidence).expect("a permitted action");
    let all = evidence.runs.iter_mut().flat_map(|run| &mut run.decisions);
    let about = all.filter(|one| one.inquiry.operation_id == begun.operation_id);
    about.for_each(change);
}

#[test]
fn an_action_begun_under_a_brake_is_found() {
    let reached_for = |evidence: &mut Evidence| {
        let (mut begun, _) = permitted(evidence).expect("a permitted action");
        begun.braked = true;
        evidence.ledger.begun.push(begun);
    };
    assert!(tampered("NothingActsAfterABrake", reached_for).is_err());
    let held = |from_ms, until_ms| Held {
        scope: None,
        from_ms,
        until_ms,
    };
    let late = |evidence: &mut Evidence| {
        let (mut begun, _) = permitted(evidence).expect("a permitted action");
        begun.at_ms = 101;
        evidence.ledger.brakes = vec![held(0, Some(102))];
        (evidence.ledger.begun, evidence.ledger.sent) = (vec![begun], Vec::new());
    };
    assert!(tampered("NothingActsAfterABrake", late).is_err());
    let soon_enough = |evidence: &mut Evidence| {
        let (mut begun, _) = permitted(evidence).expect("a permitted action");
        begun.at_ms = 100;
        evidence.ledger.brakes = vec![held(0, Some(102))];
        (evidence.ledger.begun, evidence.ledger.sent) = (vec![begun], Vec::new());
    };
    assert_eq!(tampered("NothingActsAfterABrake", soon_enough), Ok(()));
}

#[test]
fn an_action_without_its_own_approval_is_found() {
    let unasked = |evidence: &mut Evidence| about_it(evidence, |one| one.answer = None);
    assert!(tampered("NothingActsUnasked", unasked).is_err());
    let denied = |evidence: &mut Evidence| {
        about_it(evidence, |one| {
            one.answer
                .iter_mut()
                .for_each(|answer| answer.option = DENY.to_owned());
        });
    };
    assert!(tampered("NothingActsUnasked", denied).is_err());
    let otherwise = |evidence: &mut Evidence| {
        about_it(evidence, |one| one.inquiry.input = "{\"n\":77}".to_owned());
    };
    assert!(tampered("NothingActsUnasked", otherwise).is_err());
    let invented = |evidence: &mut Evidence| evidence.ledger.said.clear();
    assert!(tampered("NothingActsUnasked", invented).is_err());
    let early = |evidence: &mut Evidence| {
        about_it(evidence, |one| {
            one.answer.iter_mut().for_each(|answer| answer.at.0 = i64::MAX)
        });
    };
    assert!(tampered("NothingActsUnasked", early).is_err());
    let lapsed = |evidence: &mut Evidence| {
        let day = i64::try_from(2 * APPROVAL_MS_MAX).expect("two days");
        about_it(evidence, |one| {
            one.answer.iter_mut().for_each(|answer| answer.at.0 -= day)
        });
    };
    assert!(tampered("NothingActsUnasked", lapsed).is_err());
}

#[test]
fn a_denied_action_that_began_is_found_unless_its_approval_expired() {
    // An effect class, and whether the denial answered a second question.
    for (class, is_asked_again, is_right) in [
        (EffectClass::Idempotent, false, false),
        (EffectClass::Idempotent, true, true),
        (EffectClass::Plain, true, false),
    ] {
        let refused = |evidence: &mut Evidence| {
            let (begun, yes) = permitted(evidence).expect("a permitted action");
            for run in &mut evidence.runs {
                let mut steps = run.steps.iter_mut();
                let Some(step) = steps.find(|step| step.operation_id == begun.operation_id) else {
                    continue;
                };
                (step.class, step.status) = (Some(class), StepStatus::Denied);
                DENIED_BY_PERSON.clone_into(&mut step.reason);
                let mut no = yes.clone();
                no.answer
                    .iter_mut()
                    .for_each(|answer| DENY.clone_into(&mut answer.option));
                run.decisions.extend(is_asked_again.then_some(no));
            }
        };
        let verdict = tampered("NothingRefusedActs", refused);
        assert_eq!(
            verdict.is_ok(),
            is_right,
            "{class:?} {is_asked_again}: {verdict:?}"
        );
    }
}

#[test]
fn a_question_that_outlives_its_run_is_found() {
    let left = |evidence: &mut Evidence| about_it(evidence, |one| one.status = DecisionStatus::Pending);
    assert!(tampered("NoQuestionOutlivesItsRun", left).is_err());
}

#[test]
fn a_second_or_different_answer_is_found() {
    let twice = |evidence: &mut Evidence| {
        let again = evidence.ledger.answers[0].clone();
        evidence.ledger.answers.push(again);
    };
    assert!(tampered("AnswersAreGivenOnce", twice).is_err());
    let other = |evidence: &mut Evidence| evidence.ledger.answers[0].option = "another".to_owned();
    assert!(tampered("AnswersAreGivenOnce", other).is_err());
    let unsaid = |evidence: &mut Evidence| evidence.ledger.said.clear();
    assert!(tampered("AnswersAreGivenOnce", unsaid).is_err());
    let logged = |evidence: &mut Evidence| {
        let word = EventKind::DecisionAnswered.as_str();
        let closing = evidence.events.iter().find(|event| event.kind == word);
        let again = closing.expect("an answer in the log").clone();
        evidence.events.push(again);
    };
    assert!(tampered("AnswersAreGivenOnce", logged).is_err());
}

#[test]
fn a_run_that_can_never_continue_is_found() {
    let open = |evidence: &mut Evidence| evidence.runs[0].row.status = RunStatus::Open;
    assert!(tampered("EveryRunEndsOrIsResumable", open).is_err());
    let forgotten = |evidence: &mut Evidence| {
        evidence.moment = Moment::Midway;
        evidence.runs[0].row.status = RunStatus::Open;
        evidence.runs[0].row.suspension = Some(Suspension {
            wait: Wait::Decision { until: None },
            since: Millis(0),
        });
    };
    assert!(tampered("EveryRunEndsOrIsResumable", forgotten).is_err());
    let unexplained = |evidence: &mut Evidence| {
        evidence.moment = Moment::Midway;
        evidence.runs[0].row.status = RunStatus::Quarantined;
        evidence.runs[0].row.fault = None;
    };
    assert!(tampered("EveryRunEndsOrIsResumable", unexplained).is_err());
}

#[test]
fn money_reserved_without_a_request_is_found() {
    let aside = |evidence: &mut Evidence| evidence.spent[0].reserved.0 += 1;
    assert!(tampered("ReservationsAreZeroAtRest", aside).is_err());
}

#[test]
fn a_repetition_of_an_unknown_action_requires_an_approval() {
    let repeated = |evidence: &mut Evidence, is_permitted: bool| {
        let (begun, _) = permitted(evidence).expect("a permitted action");
        let run = evidence.runs.iter_mut().find(|run| {
            let mut steps = run.steps.iter();
            steps.any(|step| step.operation_id == begun.operation_id)
        });
        let run = run.expect("its run");
        let mut before = run
            .steps
            .iter()
            .find(|step| step.operation_id == begun.operation_id)
            .cloned();
        if let Some(step) = &mut before {
            step.operation_id = OperationId(Digest::of(b"before"));
            step.status = StepStatus::OutcomeUnknown;
        }
        run.steps.splice(0..0, before);
        if !is_permitted {
            run.decisions.clear();
        }
        let class = EffectClass::Plain;
        let operation_id = begun.operation_id;
        evidence.ledger.deeds.push(Deed {
            operation_id,
            class,
            slept: false,
        });
    };
    assert_eq!(
        tampered("NoSilentRepeat", |evidence| repeated(evidence, true)),
        Ok(())
    );
    assert!(tampered("NoSilentRepeat", |evidence| repeated(evidence, false)).is_err());
}
