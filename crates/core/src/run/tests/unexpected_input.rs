//! Unexpected inputs are rejected with an error value and leave the run unchanged.

use super::simulated_run::{PlayedRun, asks_for, body, call, exceeded, failure};
use crate::conversation::Usage;
use crate::failure::ModelFailureKind;
use crate::key::{Digest, OperationId};
use crate::run::{AttemptCost, InputReads, RunInput, RunMachine, UnexpectedInput};
use crate::step::StepStatus;

/// A run in each phase, with the phase name.
fn places() -> [(&'static str, RunMachine); 5] {
    let begun = PlayedRun::begun(9);
    let mut acting = begun.clone();
    acting.ask(&asks_for(&[call("Read", 0), call("Shell", 0)]));
    let mut ended = begun.clone();
    ended.ask(&asks_for(&[]));
    let mut parked = begun.clone();
    parked.take(RunInput::Parked { exceeded: exceeded() }, InputReads::default());
    let new = begun.steps[0].before.clone();
    [
        ("not begun", new),
        ("waiting for the model", begun.turn),
        ("parked", parked.turn),
        ("acting", acting.turn),
        ("ended", ended.turn),
    ]
}

/// One input of every kind.
fn inputs() -> [RunInput; 8] {
    let (reply, _) = PlayedRun::begun(9).reply(&[], Usage::default());
    [
        RunInput::admitted(body()),
        reply,
        RunInput::AttemptFailed {
            failure: failure(ModelFailureKind::Retryable, None),
            duration_ms: 0,
            bill: AttemptCost::default(),
        },
        RunInput::Parked { exceeded: exceeded() },
        RunInput::Resumed,
        RunInput::Settled { results: vec![] },
        RunInput::Postponed,
        RunInput::Cancelled,
    ]
}

#[test]
fn each_phase_accepts_only_its_own_inputs() {
    let taken = places().map(|(place, turn)| {
        let fits = inputs().into_iter().filter_map(|input| {
            let kind = input.kind();
            match turn.clone().apply(&InputReads::default(), input) {
                Ok(_) => Some(kind),
                Err(UnexpectedInput::Unexpected { phase, input }) => {
                    assert_eq!((phase, input), (place, kind));
                    None
                }
                Err(other) => panic!("{place}, {kind}: {other}"),
            }
        });
        (place, fits.collect::<Vec<_>>())
    });
    let expected = [
        ("not begun", vec!["admitted"]),
        (
            "waiting for the model",
            vec!["replied", "attempt_failed", "parked", "cancelled"],
        ),
        ("parked", vec!["resumed", "cancelled"]),
        ("acting", vec!["settled", "postponed", "cancelled"]),
        ("ended", vec![]),
    ];
    assert_eq!(taken, expected);
}

// Conformance: L-145
#[test]
fn a_result_of_an_action_that_is_not_in_progress_is_rejected() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Read", 0), call("Read", 1), call("Shell", 0)]));
    let open = played.turn.pending_effects();
    let good = played.result(&open[0], StepStatus::Ok);
    let refuses = |played: &PlayedRun, results: Vec<_>, operation: OperationId| {
        let refused = played
            .turn
            .clone()
            .apply(&InputReads::default(), RunInput::Settled { results });
        assert!(
            matches!(&refused, Err(UnexpectedInput::ForeignOperation(id)) if *id == operation),
            "{refused:?}"
        );
    };
    let foreign = OperationId(Digest::of(b"of another run"));
    let mut stray = good.clone();
    stray.operation_id = foreign;
    refuses(&played, vec![good.clone(), stray], foreign);
    refuses(&played, vec![good.clone(), good.clone()], good.operation_id);
    // The action behind the other two has an id, but it is not intended.
    let waiting = played
        .rows
        .iter()
        .find(|(_, row)| row.status == StepStatus::Planned)
        .map(|(id, _)| *id);
    let mut early = good.clone();
    early.operation_id = waiting.expect("a planned step");
    refuses(&played, vec![early.clone()], early.operation_id);
    played.take(
        RunInput::Settled {
            results: vec![good.clone()],
        },
        InputReads::default(),
    );
    refuses(&played, vec![good.clone()], good.operation_id);
}

#[test]
fn a_reply_without_reads_for_its_calls_is_rejected() {
    let mut played = PlayedRun::begun(9);
    let (reply, mut reads) = played.reply(&[call("Read", 0), call("Read", 1)], Usage::default());
    for calls in [
        vec![],
        vec![reads.calls[0].clone()],
        [reads.calls.clone(), reads.calls.clone()].concat(),
    ] {
        let refused = played.turn.clone().apply(
            &InputReads {
                calls,
                ..InputReads::default()
            },
            reply.clone(),
        );
        assert!(matches!(refused, Err(UnexpectedInput::Reads)), "{refused:?}");
    }
    reads.calls.reverse();
    assert!(played.turn.apply(&reads, reply).is_ok());
}
