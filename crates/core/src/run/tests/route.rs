//! Fallbacks, parking, and the record of every attempt.

use proptest::prelude::*;

use super::generators::any_run;
use super::simulated_run::{Ask, PlayedRun, asks_for, call, exceeded, failure};
use crate::attempt::{AttemptOutcome, AttemptRecord, Timeline};
use crate::budget::MicroUsd;
use crate::conversation::Usage;
use crate::failure::{CONTEXT_LENGTH_EXCEEDED, ModelFailureKind};
use crate::report::EventKind;
use crate::run::{ATTEMPTS_MAX, AttemptCost, InputReads, RunInput, RunOutcome, RunPhase, StepWrite};

fn fails(kind: ModelFailureKind) -> Ask {
    Ask::Fail {
        kind,
        retry_after_ms: None,
    }
}

/// Returns every recorded attempt, in order.
fn attempts(played: &PlayedRun) -> Vec<AttemptRecord> {
    let writes = played.steps.iter().flat_map(|step| &step.moved.steps);
    let records = writes.filter_map(|write| match write {
        StepWrite::Settle { attempt, .. } => attempt.as_deref().cloned(),
        StepWrite::Put { .. }
        | StepWrite::Intend(_)
        | StepWrite::Postpone(_)
        | StepWrite::AwaitApproval(_)
        | StepWrite::Approve(_)
        | StepWrite::Saga(_) => None,
    });
    records.collect()
}

fn told(played: &PlayedRun) -> Vec<(String, u32, AttemptOutcome, bool)> {
    let records = attempts(played).into_iter();
    records
        .map(|record| {
            (
                record.model_ref,
                record.attempt,
                record.outcome,
                record.advanced_to_fallback,
            )
        })
        .collect()
}

// Conformance: H-012, H-016, H-019
#[test]
fn a_model_is_skipped_after_its_retries_and_the_next_is_used() {
    let mut played = PlayedRun::routed(9, 1);
    for _ in 0..ATTEMPTS_MAX {
        played.ask(&fails(ModelFailureKind::Retryable));
    }
    played.ask(&asks_for(&[]));
    let (first, second) = ("scripted:x".to_owned(), "scripted:fallback1".to_owned());
    assert_eq!(
        told(&played),
        [
            (first.clone(), 1, AttemptOutcome::Retrying, false),
            (first.clone(), 2, AttemptOutcome::Retrying, false),
            (first.clone(), 3, AttemptOutcome::RetriesExhausted, true),
            (second.clone(), 1, AttemptOutcome::Succeeded, false),
        ]
    );
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Completed));
    let timeline = Timeline::of(&played.turn.model_ref, attempts(&played));
    assert_eq!(timeline.requested_model_ref, first);
    assert_eq!(timeline.winning_model_ref, Some(second));
    assert_eq!(timeline.aggregated_token_usage, Some(Usage::of(3, 1)));
}

// Conformance: H-012
#[test]
fn a_permanent_failure_skips_the_model_but_not_the_route() {
    let mut played = PlayedRun::routed(9, 2);
    played.ask(&fails(ModelFailureKind::FailFast));
    played.ask(&fails(ModelFailureKind::FailFast));
    assert_eq!(played.turn.active_model(), "scripted:fallback2");
    played.ask(&asks_for(&[call("Read", 0)]));
    played.end_all(crate::step::StepStatus::Ok);
    assert_eq!(
        played.turn.active_model(),
        "scripted:fallback2",
        "a run that has fallen back stays there"
    );
}

// Conformance: L-166, H-014, A-118
#[test]
fn when_every_model_fails_the_run_reports_each_failure() {
    let mut played = PlayedRun::routed(9, 1);
    played.ask(&fails(ModelFailureKind::FailFast));
    for _ in 0..ATTEMPTS_MAX {
        played.ask(&fails(ModelFailureKind::Retryable));
    }
    let Some(RunOutcome::Failed(artifact)) = played.turn.outcome() else {
        panic!("did not fail")
    };
    assert_eq!(
        artifact.metadata["candidate_1"],
        "scripted:x: fail_fast_aborted (http, 1 attempts)"
    );
    assert_eq!(
        artifact.metadata["candidate_2"],
        "scripted:fallback1: retries_exhausted (http, 3 attempts)"
    );
}

#[test]
fn a_context_length_error_does_not_try_the_next_model() {
    let mut played = PlayedRun::routed(9, 1);
    let mut too_long = failure(ModelFailureKind::FailFast, None);
    too_long.artifact.kind = CONTEXT_LENGTH_EXCEEDED.to_owned();
    let bill = AttemptCost {
        provider: "p".into(),
        rule: "r".into(),
        cost: Some(MicroUsd(7)),
        exceeded: None,
    };
    played.take(
        RunInput::AttemptFailed {
            failure: too_long,
            duration_ms: 5,
            bill,
        },
        InputReads::default(),
    );
    assert!(matches!(played.turn.outcome(), Some(RunOutcome::Failed(_))));
    let record = attempts(&played).pop().expect("an attempt");
    assert_eq!((record.cost, record.rule.as_str()), (Some(MicroUsd(7)), "r"));
    assert_eq!(played.turn.cost, MicroUsd(7));
}

#[test]
fn a_run_over_budget_is_parked_and_resumes_in_place() {
    let mut played = PlayedRun::routed(9, 1);
    played.ask(&fails(ModelFailureKind::FailFast));
    played.ask(&fails(ModelFailureKind::Retryable));
    let before = played.turn.pending_effects();
    played.take(RunInput::Parked { exceeded: exceeded() }, InputReads::default());
    assert!(matches!(played.turn.phase, RunPhase::Parked { attempt: 2, .. }));
    assert_eq!(played.last().events[0].kind(), EventKind::RunParked);
    played.take(RunInput::Resumed, InputReads::default());
    let operation = |effect: &crate::run::Effect| match effect {
        crate::run::Effect::CallModel { operation_id, .. } | crate::run::Effect::Act { operation_id, .. } => {
            *operation_id
        }
    };
    let ids = |effects: &[crate::run::Effect]| effects.iter().map(operation).collect::<Vec<_>>();
    assert_eq!(
        ids(&played.turn.pending_effects()),
        ids(&before),
        "the same request under the same name"
    );
    played.take(RunInput::Parked { exceeded: exceeded() }, InputReads::default());
    played.take(RunInput::Cancelled, InputReads::default());
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Cancelled));
}

fn too_dear(played: &mut PlayedRun) {
    let bill = AttemptCost {
        exceeded: Some(exceeded()),
        ..AttemptCost::default()
    };
    let failed = RunInput::AttemptFailed {
        failure: failure(ModelFailureKind::FailFast, None),
        duration_ms: 0,
        bill,
    };
    played.take(failed, InputReads::default());
}

#[test]
fn a_run_whose_free_model_fails_parks_for_the_skipped_model() {
    let mut played = PlayedRun::routed(9, 3);
    played.ask(&fails(ModelFailureKind::FailFast));
    too_dear(&mut played);
    too_dear(&mut played);
    assert_eq!(played.turn.active_model(), "scripted:fallback3");
    for _ in 0..ATTEMPTS_MAX {
        played.ask(&fails(ModelFailureKind::Retryable));
    }
    let RunPhase::Parked {
        attempt: 1,
        missed,
        exceeded: why,
    } = &played.turn.phase
    else {
        panic!("does not wait: {:?}", played.turn.phase)
    };
    assert_eq!(
        (missed.len(), *why),
        (1, exceeded()),
        "the first one has failed for good"
    );
    assert_eq!(played.turn.active_model(), "scripted:fallback1");
    assert_eq!(
        played.last().events.last().map(crate::report::EventDraft::kind),
        Some(EventKind::RunParked)
    );
    played.take(RunInput::Resumed, InputReads::default());
    assert_eq!(played.turn.pending_effects().len(), 1);
    played.ask(&asks_for(&[]));
    let winner = attempts(&played).pop().expect("an attempt");
    assert_eq!(
        (winner.model_ref.as_str(), winner.attempt, winner.outcome),
        ("scripted:fallback1", 1, AttemptOutcome::Succeeded)
    );
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Completed));
}

#[test]
fn a_later_failure_of_a_free_model_parks_the_run() {
    let mut played = PlayedRun::routed(9, 2);
    played.ask(&fails(ModelFailureKind::FailFast));
    too_dear(&mut played);
    played.ask(&asks_for(&[call("Read", 0)]));
    played.end_all(crate::step::StepStatus::Ok);
    assert_eq!(played.turn.active_model(), "scripted:fallback2");
    played.ask(&fails(ModelFailureKind::FailFast));
    let RunPhase::Parked {
        attempt: 1, missed, ..
    } = &played.turn.phase
    else {
        panic!("does not wait: {:?}", played.turn.phase)
    };
    assert!(missed.is_empty(), "the first one failed in another round");
    assert_eq!(played.turn.active_model(), "scripted:fallback1");
    played.take(RunInput::Resumed, InputReads::default());
    played.ask(&fails(ModelFailureKind::FailFast));
    assert_eq!(played.turn.active_model(), "scripted:fallback2", "asked anew");
    played.ask(&fails(ModelFailureKind::FailFast));
    assert!(
        matches!(played.turn.outcome(), Some(RunOutcome::Failed(_))),
        "money was not what it lacked this time"
    );
}

#[test]
fn a_parked_run_tries_the_models_after_the_skipped_one_again() {
    let mut played = PlayedRun::routed(9, 1);
    for _ in 0..2 {
        too_dear(&mut played);
        played.ask(&fails(ModelFailureKind::FailFast));
        assert!(matches!(played.turn.phase, RunPhase::Parked { .. }));
        played.take(RunInput::Resumed, InputReads::default());
    }
    played.ask(&fails(ModelFailureKind::FailFast));
    played.ask(&fails(ModelFailureKind::FailFast));
    assert!(
        matches!(played.turn.outcome(), Some(RunOutcome::Failed(_))),
        "money was not what it lacked"
    );
}

proptest! {
    // Conformance: H-016, H-017
    /// The route is followed in one direction, and no model exceeds its number of attempts.
    #[test]
    fn every_model_of_a_route_is_tried_in_order_within_limits(world in any_run()) {
        let played = PlayedRun::of(&world);
        let mut candidate = 0;
        for step in &played.steps {
            let turn = &step.moved.turn;
            prop_assert!(turn.candidate >= candidate && turn.candidate as usize <= turn.fallbacks.len());
            candidate = turn.candidate;
        }
        let records = attempts(&played);
        for pair in records.windows(2) {
            if pair[0].outcome == AttemptOutcome::Retrying {
                prop_assert_eq!(&pair[0].model_ref, &pair[1].model_ref);
                prop_assert_eq!(pair[0].attempt + 1, pair[1].attempt);
            } else {
                prop_assert_eq!(pair[1].attempt, 1);
            }
            prop_assert_eq!(pair[0].advanced_to_fallback, pair[0].model_ref != pair[1].model_ref);
        }
        prop_assert!(records.iter().all(|record| record.attempt <= ATTEMPTS_MAX));
        prop_assert_eq!(records.len(), usize::try_from(played.turn.requests).expect("few"));
    }
}
