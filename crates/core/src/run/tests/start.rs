//! The start of a run that continues an earlier one.

use super::simulated_run::{body, run_key};
use crate::blob::Blob;
use crate::conversation::Role;
use crate::run::{Effect, EntryWrite, InputReads, RunInput, RunMachine};

#[test]
fn a_run_with_a_history_begins_with_exactly_that_conversation() {
    let turn = RunMachine::new(run_key(), "scripted:x".into(), 9);
    let entry = |role, text: &[u8]| EntryWrite {
        sources: crate::provenance::Sources::none(),
        role,
        content: Blob::new(text.to_vec()).hash(),
    };
    let body = body();
    let history = vec![
        EntryWrite {
            sources: crate::provenance::Sources::none(),
            role: Role::User,
            content: body,
        },
        entry(Role::Assistant, b"a call"),
        entry(Role::Tool, b"its result"),
    ];
    let input = RunInput::Admitted {
        is_instruction: true,
        sources: crate::provenance::Sources::none(),
        body,
        history: history.clone(),
    };
    let begun = turn.apply(&InputReads::default(), input).expect("begins");
    assert_eq!(begun.entries, history);
    assert!(matches!(
        begun.effects.as_slice(),
        [Effect::CallModel { request: 0, .. }]
    ));
}
