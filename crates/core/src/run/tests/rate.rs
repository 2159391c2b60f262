//! Single cases: calls above the rate of their tool wait.

use super::case::open;
use super::simulated_run::{AskedDecision, PlayedRun, call};
use crate::conversation::Usage;
use crate::rate::RateReads;
use crate::run::{Effect, InputReads, RunInput};
use crate::step::StepStatus;
use crate::time::Millis;

/// At most two calls of a tool per minute.
fn at(now: i64) -> Option<RateReads> {
    Some(RateReads {
        per_minute: 2,
        now: Millis(now),
        elsewhere: std::collections::BTreeMap::new(),
    })
}

fn reply_at(played: &mut PlayedRun, calls: &[AskedDecision], now: i64) {
    let (input, reads) = played.reply(calls, Usage::default());
    let reads = InputReads {
        rates: at(now),
        ..reads
    };
    played.take(input, reads);
}

fn settle_at(played: &mut PlayedRun, now: i64) {
    let effects: Vec<Effect> = played.turn.pending_effects();
    let results = effects
        .iter()
        .map(|effect| played.result(effect, StepStatus::Ok))
        .collect();
    let reads = InputReads {
        rates: at(now),
        ..InputReads::default()
    };
    played.take(RunInput::Settled { results }, reads);
}

// Conformance: A-211
#[test]
fn a_call_above_the_rate_waits_and_is_not_denied() {
    let mut played = PlayedRun::begun(9);
    let calls = [call("Read", 0), call("Read", 1), call("Read", 2), call("Read", 3)];
    reply_at(&mut played, &calls, 1_000);
    assert_eq!(open(&played), ["c0_0", "c0_1"], "later calls keep their order");
    assert_eq!(played.turn.phase.delayed_tool(), None, "something begins");
    settle_at(&mut played, 11_000);
    assert_eq!(played.turn.pending_effects(), []);
    assert_eq!(
        (played.turn.phase.delayed_tool(), played.turn.phase.delay_ms()),
        (Some("Read"), 50_000)
    );
    settle_at(&mut played, 60_999);
    assert_eq!(played.turn.phase.delay_ms(), 1, "it is not over");
    settle_at(&mut played, 61_000);
    assert_eq!(open(&played), ["c0_2", "c0_3"]);
    assert_eq!(
        (played.turn.phase.delayed_tool(), played.turn.phase.delay_ms()),
        (None, 0)
    );
}

#[test]
fn plain_calls_take_their_rate_one_by_one() {
    let mut played = PlayedRun::begun(9);
    let calls = [call("Shell", 0), call("Shell", 1), call("Shell", 2)];
    reply_at(&mut played, &calls, 0);
    assert_eq!(open(&played), ["c0_0"]);
    settle_at(&mut played, 1);
    assert_eq!(open(&played), ["c0_1"]);
    settle_at(&mut played, 2);
    assert_eq!((open(&played).len(), played.turn.phase.delay_ms()), (0, 59_998));
}

#[test]
fn a_run_that_waits_for_a_rate_can_be_cancelled() {
    let mut played = PlayedRun::begun(9);
    let calls = [call("Read", 0), call("Read", 1), call("Read", 2)];
    reply_at(&mut played, &calls, 0);
    settle_at(&mut played, 1);
    played.take(RunInput::Cancelled, InputReads::default());
    assert_eq!(played.receipt("c0_2")["kind"], "cancelled");
    assert!(played.turn.outcome().is_some());
}
