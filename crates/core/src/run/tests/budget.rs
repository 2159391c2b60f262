//! Single cases: actions that a limit does not cover.

use super::case::open;
use super::simulated_run::{PlayedRun, call};
use crate::budget::{BudgetExceeded, BudgetPeriod, BudgetResource, BudgetScope, LimitId};
use crate::conversation::Usage;
use crate::key::Digest;
use crate::report::EventKind;
use crate::run::{BudgetStop, InputReads, RunInput, RunPhase};
use crate::step::StepStatus;

/// The budget covers this many of the actions that would begin.
fn covering(covered: u32) -> InputReads {
    let exceeded = BudgetExceeded {
        scope: BudgetScope::Run,
        resource: BudgetResource::ToolCalls,
        period: BudgetPeriod::Lifetime,
        limit: Some(LimitId(Digest::ZERO)),
        max: 1,
        used: 1,
        reserved: 0,
        needed: 1,
        until: None,
    };
    InputReads {
        budget: Some(BudgetStop { covered, exceeded }),
        ..InputReads::default()
    }
}

fn reply_with(played: &mut PlayedRun, calls: usize, stop: &InputReads) {
    let calls: Vec<_> = (0..calls)
        .map(|n| call("Read", u8::try_from(n).expect("few")))
        .collect();
    let (input, reads) = played.reply(&calls, Usage::default());
    let budget = stop.budget;
    played.take(input, InputReads { budget, ..reads });
}

fn has_parked(played: &PlayedRun) -> bool {
    let events = &played.last().events;
    events.iter().any(|event| event.kind() == EventKind::RunParked)
}

// Conformance: L-168
#[test]
fn a_run_whose_actions_no_limit_covers_is_parked_and_resumes() {
    let mut played = PlayedRun::begun(9);
    reply_with(&mut played, 2, &covering(0));
    assert!(played.turn.phase.exceeded().is_some() && has_parked(&played));
    assert_eq!(played.turn.pending_effects(), []);
    played.take(RunInput::Resumed, InputReads::default());
    assert!(played.turn.phase.exceeded().is_none());
    assert_eq!(open(&played), ["c0_0", "c0_1"]);
    played.end_all(StepStatus::Ok);
    assert!(matches!(played.turn.phase, RunPhase::Modelling { .. }));
}

#[test]
fn the_actions_that_a_limit_covers_begin_before_the_run_is_parked() {
    let mut played = PlayedRun::begun(9);
    reply_with(&mut played, 3, &covering(2));
    assert!(!has_parked(&played));
    assert_eq!(played.turn.pending_effects().len(), 2);
    let begun = played.turn.pending_effects();
    let results = begun
        .iter()
        .map(|effect| played.result(effect, StepStatus::Ok))
        .collect();
    played.take(RunInput::Settled { results }, covering(0));
    assert!(has_parked(&played) && played.turn.pending_effects().is_empty());
    played.take(RunInput::Resumed, InputReads::default());
    assert_eq!(open(&played), ["c0_2"]);
}

#[test]
fn a_parked_run_with_actions_can_be_cancelled() {
    let mut played = PlayedRun::begun(9);
    reply_with(&mut played, 1, &covering(0));
    played.take(RunInput::Cancelled, InputReads::default());
    assert!(played.turn.outcome().is_some());
}
