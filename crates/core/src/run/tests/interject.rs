//! Interjections: they join after the results of a round and before the next request, or stay queued.

use super::simulated_run::{PlayedRun, asks_for, call};
use crate::blob::BlobHash;
use crate::conversation::Role;
use crate::key::{Digest, RunKey};
use crate::report::EventKind;
use crate::run::{Effect, InputReads, Interjection, RunInput, RunOutcome};
use crate::step::StepStatus;

fn said(words: &str) -> Interjection {
    Interjection {
        sources: crate::provenance::Sources::none(),
        run_key: RunKey(Digest::of(words.as_bytes())),
        body: BlobHash(Digest::of(words.as_bytes())),
    }
}

fn with(words: &[&str]) -> InputReads {
    InputReads {
        interjected: words.iter().map(|words| said(words)).collect(),
        ..InputReads::default()
    }
}

/// Settles the first intended action.
fn settle_one(played: &mut PlayedRun, reads: InputReads) {
    let effects = played.turn.pending_effects();
    let results = vec![played.result(&effects[0], StepStatus::Ok)];
    played.take(RunInput::Settled { results }, reads);
}

#[test]
fn an_interjection_joins_after_the_results_and_before_the_next_request() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0)]));
    settle_one(&mut played, with(&["stop that", "and this"]));
    let roles: Vec<Role> = played.last().entries.iter().map(|entry| entry.role).collect();
    assert_eq!(roles, [Role::Tool, Role::User, Role::User]);
    let wanted = ["stop that", "and this"].map(said);
    assert_eq!(played.last().entries[1].content, wanted[0].body);
    assert_eq!(played.last().joined, wanted.each_ref().map(|one| one.run_key));
    assert!(matches!(
        played.turn.pending_effects().as_slice(),
        [Effect::CallModel { .. }]
    ));
    let told = played
        .last()
        .events
        .iter()
        .filter(|event| event.kind() == EventKind::WakeDecided);
    let told: Vec<_> = told
        .map(|event| serde_json::json!(event.body)["verdict"].clone())
        .collect();
    assert_eq!(told, ["absorbed", "absorbed"]);
}

#[test]
fn an_interjection_waits_while_actions_of_a_round_are_open() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0), call("Mail", 0)]));
    settle_one(&mut played, with(&["stop that"]));
    assert_eq!((played.last().joined.len(), played.last().entries.len()), (0, 0));
    settle_one(&mut played, with(&["stop that"]));
    assert_eq!(played.last().joined, [said("stop that").run_key]);
}

#[test]
fn a_run_that_ends_absorbs_no_interjection() {
    let mut played = PlayedRun::begun(9);
    let (input, _) = played.reply(&[], crate::conversation::Usage::default());
    played.take(input, with(&["too late"]));
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Completed));
    assert!(played.last().joined.is_empty());
    let mut short = PlayedRun::begun(1);
    short.ask(&asks_for(&[call("Shell", 0)]));
    settle_one(&mut short, with(&["too late"]));
    assert_eq!(short.turn.outcome(), Some(&RunOutcome::OutOfRounds));
    assert!(short.last().joined.is_empty());
}
