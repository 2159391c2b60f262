//! Whatever goes wrong, and whenever: the promises of the engine hold.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand, as tests do"
)]

mod causal;
mod engine_factory;
mod field;
mod head_signer;
mod notice;
mod retention;
mod schedule;
mod service;
mod subrun;

use proptest::prelude::*;
use wakeful_sim::search::examine;
use wakeful_sim::{
    Coverage, Fault, FaultKind, FaultPlan, Kind, crashing_equals_not_crashing, log_hash, play, same_again,
};

/// Schedules that once failed, one a line, with the reason behind a `#`.
const SEEDS: &str = include_str!("../seeds.txt");

/// A few mishaps, close together or far apart.
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

/// A schedule of a daemon that is woken, with the mishaps that there are for it.
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
    /// The same of a daemon that is woken by changes, moments, calls from outside, people and other agents.
    #[test]
    fn whatever_wakes_a_daemon_and_whatever_goes_wrong_every_invariant_holds(schedule in woken()) {
        if let Err(violation) = play(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }

    /// The whole of it: no seed and no mishap may break an invariant, neither on the way nor in the end.
    #[test]
    fn whatever_goes_wrong_every_invariant_holds(schedule in schedule()) {
        if let Err(violation) = play(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }

    /// Otherwise a failure could not be looked at again.
    #[test]
    fn the_same_schedule_is_the_same_world(schedule in schedule()) {
        if let Err(violation) = same_again(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }

    /// As long as no plain action is under way, nobody can tell afterwards that a process died.
    #[test]
    fn crashing_between_plain_actions_changes_nothing_but_times(schedule in schedule()) {
        if let Err(violation) = crashing_equals_not_crashing(&schedule) {
            prop_assert!(false, "{schedule}\n{violation}");
        }
    }
}

/// One mishap at every passage of a run in turn, until it comes too late to strike.
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

#[test]
fn a_run_survives_one_mishap_of_each_kind_at_every_single_passage() {
    // A world with plain and repeatable actions, a failed attempt and a refusal.
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

/// The invariant says how soon; here it is made sure that requests are under way when their end is asked for.
#[test]
fn a_model_that_is_asked_is_hung_up_on_within_a_tenth_of_a_second_of_a_cancel() {
    let tally = one_at_every_passage(0x306, FaultKind::Cancel).unwrap_or_else(|failed| panic!("{failed}"));
    let given_up = tally.0.get("request given up").copied().unwrap_or_default();
    assert!(given_up > 5, "{tally:?}");
}

#[test]
fn drawn_schedules_meet_every_kind_of_mishap_outcome_and_status() {
    let mut tally = Coverage::default();
    for number in 0..150 {
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
fn drawn_worlds_are_woken_by_every_cause_and_have_every_outcome() {
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
    // Some outcomes come up once in a hundred worlds.
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

/// What a process of the simulator prints about one schedule.
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
fn the_same_seed_leaves_the_same_log_in_two_processes_and_in_this_one() {
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
fn every_schedule_that_once_failed_passes() {
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
