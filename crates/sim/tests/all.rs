//! The engine's invariants hold under any faults at any time.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand, as tests do"
)]

mod action;
mod causal;
mod engine_factory;
mod field;
mod head_signer;
mod injection;
mod notice;
mod provenance;
mod retention;
mod schedule;
mod service;
mod subrun;

use proptest::prelude::*;
use wakeful_sim::search::examine;
use wakeful_sim::{
    Coverage, Fault, FaultKind, FaultPlan, Kind, crashing_equals_not_crashing, log_hash, play, same_again,
};

/// Plans that failed once, one per line, with the reason after a `#`.
const SEEDS: &str = include_str!("../seeds.txt");

/// A few faults, close together or far apart.
fn mishaps() -> impl Strategy<Value = Vec<Fault>> {
    let what = prop_oneof![
        5 => Just(FaultKind::Crash),
        1 => Just(FaultKind::Sleep),
        1 => Just(FaultKind::StoreFails),
        1 => Just(FaultKind::Halt),
        1 => Just(FaultKind::Cancel),
        2 => Just(FaultKind::Answer),
        2 => Just(FaultKind::Brake),
        1 => Just(FaultKind::Release),
        1 => Just(FaultKind::Poison),
    ];
    let after = prop_oneof![0_u32..10, 0_u32..90];
    let mishap = (what, after).prop_map(|(what, after)| Fault { what, after });
    proptest::collection::vec(mishap, 0..6)
}

fn schedule() -> impl Strategy<Value = FaultPlan> {
    (any::<u64>(), mishaps()).prop_map(|(seed, mishaps)| FaultPlan {
        mishaps,
        ..FaultPlan::calm(seed)
    })
}

/// A daemon plan with the faults that apply to it.
fn woken() -> impl Strategy<Value = FaultPlan> {
    let what = prop_oneof![
        5 => Just(FaultKind::Crash),
        1 => Just(FaultKind::StoreFails),
        1 => Just(FaultKind::Halt),
        1 => Just(FaultKind::Jump),
    ];
    let after = prop_oneof![0_u32..10, 0_u32..90];
    let mishap = (what, after).prop_map(|(what, after)| Fault { what, after });
    let mishaps = proptest::collection::vec(mishap, 0..6);
    (any::<u64>(), mishaps).prop_map(|(seed, mishaps)| FaultPlan {
        kind: Kind::Alert,
        mishaps,
        ..FaultPlan::calm(seed)
    })
}

proptest! {
    // Conformance: A-44
    /// The same for a daemon that is woken by changes, schedules, external triggers, people and other
    /// agents.
    #[test]
    fn every_invariant_holds_for_a_woken_daemon_under_any_faults(schedule in woken()) {
        if let Err(violation) = play(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }

    // Conformance: L-099 (invariants: the transcript is complete, the event chain has no gap),
    //     L-146 (invariant: each call has one result, in order),
    //     L-149 (invariants: the intent comes before the effect, a replay gives the same plan),
    //     L-150 (invariant: no plain effect happens twice),
    //     H-210 (invariants: no acknowledged input is lost, the event chain is unchanged),
    //     A-27 (invariant: no acknowledged input is lost),
    //     A-33 (invariants: a replay gives the stored states, no effect is repeated silently),
    //     A-35 (invariant: every stored input is decoded and replayed),
    //     A-37 (invariant: no plain effect happens twice),
    //     A-44 (storage failures among the mishaps: counters and chain stay complete),
    //     A-97 (invariants: no silent repeat, unknown outcomes only after a mishap),
    //     A-201 (invariants: no plain effect twice, one id is one action),
    //     A-219 (crash, suspended process and storage failure: no process acts without its lease),
    //     A-224 (the whole test: in memory, with an injected clock)
    /// The main property: no seed and no fault breaks an invariant, neither midway nor at the end.
    #[test]
    fn every_invariant_holds_under_any_faults(schedule in schedule()) {
        if let Err(violation) = play(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }

    // Conformance: A-224
    /// Otherwise a failure could not be reproduced.
    #[test]
    fn the_same_plan_gives_the_same_log(schedule in schedule()) {
        if let Err(violation) = same_again(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }

    // Conformance: L-099 (compares the transcripts),
    //     A-03 (compares states, steps, transcripts and events),
    //     A-63 (compares the transcripts),
    //     A-241 (compares events and effects)
    /// While no plain action is in progress, a crash leaves no trace but times.
    #[test]
    fn crashing_between_plain_actions_changes_only_times(schedule in schedule()) {
        if let Err(violation) = crashing_equals_not_crashing(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }
}

/// Injects one fault at every port call of a run in turn, until it comes too late.
fn one_at_every_passage(seed: u64, what: FaultKind) -> Result<Coverage, String> {
    let mut tally = Coverage::default();
    for after in 0.. {
        let mishaps = vec![Fault { what, after }];
        let schedule = FaultPlan {
            mishaps,
            ..FaultPlan::calm(seed)
        };
        let met = play(&schedule).map_err(|violation| format!("{schedule}\n{violation}"))?;
        tally.add(&met);
        if !met.0.keys().any(|name| name.starts_with(what.word())) {
            break;
        }
    }
    Ok(tally)
}

// Conformance: A-241
#[test]
fn a_run_survives_each_kind_of_fault_at_every_port_call() {
    // A seed with plain and idempotent actions, a failed attempt and a refusal.
    let seed = 0x306;
    for what in [
        FaultKind::Crash,
        FaultKind::Sleep,
        FaultKind::StoreFails,
        FaultKind::Halt,
        FaultKind::Cancel,
    ] {
        let tally = one_at_every_passage(seed, what).unwrap_or_else(|failed| panic!("{failed}"));
        let struck = tally.0.iter().filter(|(name, _)| name.starts_with(what.word()));
        assert!(struck.map(|(_, count)| count).sum::<u64>() > 50, "{tally:?}");
    }
}

/// The invariant checks the delay; this test ensures that requests are in progress at the cancellation.
#[test]
fn a_cancellation_drops_the_model_request_within_a_tenth_of_a_second() {
    let tally = one_at_every_passage(0x306, FaultKind::Cancel).unwrap_or_else(|failed| panic!("{failed}"));
    let given_up = tally.0.get("request given up").copied().unwrap_or_default();
    assert!(given_up > 5, "{tally:?}");
}

#[test]
fn drawn_plans_cover_every_fault_outcome_and_status() {
    let mut tally = Coverage::default();
    for number in 0..400 {
        let schedule = FaultPlan::drawn(number);
        let met = play(&schedule).unwrap_or_else(|violation| panic!("{schedule}\n{violation}"));
        tally.add(&met);
    }
    let wanted = [
        "call denied",
        "call failed",
        "call ok",
        "call outcome_unknown",
        "run cancelled",
        "run completed",
        "run failed",
        "run out_of_rounds",
        "crash at AfterAct",
        "crash at AfterAnswer",
        "crash at AfterCommit",
        "crash at BeforeAct",
        "crash at BeforeAsk",
        "crash at BeforeCommit",
        "crash at Pack",
        "crash at Read",
        "crash at Sleep",
        "brake at Read",
        "brake at Sleep",
        "answer at AfterCommit",
        "answers taken",
        "answers not taken",
        "brakes acknowledged",
        "question answered",
        "question cancelled",
        "run abandoned",
    ];
    let missing: Vec<_> = wanted
        .iter()
        .filter(|name| !tally.0.contains_key(**name))
        .collect();
    assert!(missing.is_empty(), "{missing:?} never came up: {tally:?}");
}

#[test]
fn drawn_daemon_plans_cover_every_cause_and_outcome() {
    let wanted = [
        "operator run",
        "subscription run",
        "subscription absorbed",
        "subscription own_write",
        "subscription guard_false",
        "subscription predicate_false",
        "schedule run",
        "schedule absorbed",
        "schedule nothing_to_do",
        "trigger run",
        "run run",
        "firing run ",
        "firing run  late",
        "firing skipped missed",
        "firing recomputed ",
        "firing disabled once",
        "move forge",
        "move rotate",
        "move revoke",
        "crash at BeforeCommit",
        "crash at AfterCommit",
        "crash at Sleep",
        "store at BeforeCommit",
        "halt at Read",
        "jump at Read",
    ];
    let mut tally = Coverage::default();
    let is_missing = |tally: &Coverage, name: &str| !tally.0.contains_key(&format!("alert: {name}"));
    // Some outcomes occur once in a hundred scenarios.
    for number in 0..400 {
        if number >= 200 && !wanted.iter().any(|name| is_missing(&tally, name)) {
            break;
        }
        let schedule = FaultPlan::drawn_alert(number);
        let met = play(&schedule).unwrap_or_else(|violation| panic!("{schedule}\n{violation}"));
        tally.add(&met);
    }
    let missing: Vec<_> = wanted.iter().filter(|name| is_missing(&tally, name)).collect();
    assert!(missing.is_empty(), "{missing:?} never came up: {tally:?}");
}

/// The output of a simulator process for one plan.
fn printed(schedule: &FaultPlan) -> String {
    let line = schedule.to_string();
    let words = ["--seed"].into_iter().chain(line.split_whitespace());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_wakeful-sim"))
        .args(words)
        .output()
        .expect("the simulator runs");
    String::from_utf8(output.stdout).expect("words")
}

#[test]
fn the_same_seed_leaves_the_same_log_in_every_process() {
    for schedule in [
        FaultPlan::drawn(3),
        FaultPlan::drawn(0x28b),
        FaultPlan::drawn_alert(5),
        FaultPlan::drawn_alert(6),
    ] {
        let (here, there) = (printed(&schedule), printed(&schedule));
        assert_eq!(here, there);
        let hash = log_hash(&schedule).unwrap_or_else(|violation| panic!("{violation}"));
        assert!(here.contains(&format!("log {hash}")), "{here}");
    }
}

#[test]
fn every_plan_that_once_failed_passes() {
    for line in SEEDS.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let schedule: FaultPlan = line.parse().unwrap_or_else(|error| panic!("{error}"));
        let failed = |violation| panic!("{schedule}\n{violation}");
        examine(&schedule).map_or_else(failed, drop);
        same_again(&schedule).unwrap_or_else(failed);
        crashing_equals_not_crashing(&schedule).unwrap_or_else(failed);
    }
}
