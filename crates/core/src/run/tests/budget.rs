//! Single cases: actions that a limit does not cover.

use std::collections::BTreeMap;

use super::case::open;
use super::simulated_run::{PlayedRun, call};
use crate::budget::{BudgetExceeded, BudgetPeriod, BudgetResource, BudgetScope, LimitId};
use crate::conversation::Usage;
use crate::key::Digest;
use crate::rate::RateReads;
use crate::report::EventKind;
use crate::run::{BudgetStop, InputReads, RunInput, RunPhase};
use crate::step::StepStatus;
use crate::time::Millis;

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
    let (budget, rates) = (stop.budget, stop.rates.clone());
    played.take(
        input,
        InputReads {
            budget,
            rates,
            ..reads
        },
    );
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
fn an_action_that_the_budget_takes_back_keeps_its_rate() {
    let mut played = PlayedRun::begun(9);
    let reads = |budget| InputReads {
        budget,
        rates: Some(RateReads {
            per_minute: 2,
            now: Millis(0),
            elsewhere: BTreeMap::new(),
        }),
        ..InputReads::default()
    };
    reply_with(&mut played, 2, &reads(covering(1).budget));
    let begun = played.turn.pending_effects();
    let results = begun
        .iter()
        .map(|effect| played.result(effect, StepStatus::Ok))
        .collect();
    played.take(RunInput::Settled { results }, reads(None));
    assert_eq!(open(&played), ["c0_1"], "the second of two calls in this minute");
    assert_eq!(played.turn.pending_effects().len(), 1);
    let used = played.turn.tool_rates.values().map(|window| window.used);
    assert_eq!(used.collect::<Vec<_>>(), [2]);
}

#[test]
fn a_parked_run_with_actions_can_be_cancelled() {
    let mut played = PlayedRun::begun(9);
    reply_with(&mut played, 1, &covering(0));
    played.take(RunInput::Cancelled, InputReads::default());
    assert!(played.turn.outcome().is_some());
}
