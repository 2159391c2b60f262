//! Answers that must fit a schema.

use super::simulated_run::PlayedRun;
use crate::conversation::{Block, Role, Usage};
use crate::report::EventKind;
use crate::run::{ANSWER_NOT_VALID, Effect, RunInput, RunMachine, RunOutcome, RunStatus};

/// A reply without tool calls that violates the schema.
fn answer(played: &mut PlayedRun, violations: &[&str]) {
    let (input, reads) = played.reply(&[], Usage::of(1, 1));
    let RunInput::Replied(mut reply) = input else {
        unreachable!("a reply");
    };
    reply.violations = violations.iter().map(|&text| text.to_owned()).collect();
    played.take(RunInput::Replied(reply), reads);
}

#[test]
fn a_model_may_correct_an_answer_once() {
    let mut played = PlayedRun::begun(9);
    answer(&mut played, &["/n must be at least 1"]);
    assert!(matches!(
        played.turn.pending_effects().as_slice(),
        [Effect::CallModel { request: 1, .. }]
    ));
    let asked = played.entries.last().expect("a message");
    assert_eq!(asked.role, Role::User);
    let blocks: Vec<Block> = serde_json::from_slice(&played.blobs[&asked.content]).expect("blocks");
    assert!(matches!(&blocks[..], [Block::Text { text }] if text.contains("- /n must be at least 1")));
    answer(&mut played, &[]);
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Completed));
}

#[test]
fn a_second_answer_that_does_not_fit_fails_the_run() {
    let mut played = PlayedRun::begun(9);
    answer(&mut played, &["one"]);
    // The count survives a restart.
    let stored = serde_json::to_string(&played.turn).expect("JSON");
    played.turn = serde_json::from_str::<RunMachine>(&stored).expect("a state");
    answer(&mut played, &["the answer must be an object"]);
    let Some(RunOutcome::Failed(failure)) = played.turn.outcome() else {
        panic!("{:?}", played.turn.outcome());
    };
    assert_eq!(failure.kind, ANSWER_NOT_VALID);
    assert!(
        failure.summary.contains("the answer must be an object"),
        "{failure:?}"
    );
    let last = &played.steps.last().expect("a step").moved;
    assert!(
        last.events
            .iter()
            .any(|event| event.kind() == EventKind::RuntimeError)
    );
    assert_eq!(
        played.turn.outcome().map(RunOutcome::status),
        Some(RunStatus::Failed)
    );
}

#[test]
fn an_answer_in_the_last_round_is_not_corrected() {
    let mut played = PlayedRun::begun(1);
    answer(&mut played, &["one"]);
    assert!(matches!(played.turn.outcome(), Some(RunOutcome::Failed(_))));
}
