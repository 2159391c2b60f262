//! Worlds that are drawn: whatever may happen.

use proptest::prelude::*;

use super::world::{Ask, Asked, Check, End, TOOLS, World};
use crate::conversation::Usage;
use crate::decision::Ruling;
use crate::failure::ModelFailureKind;
use crate::step::Status;
use crate::time::Millis;

/// Any world: few tools and arguments, so that equal actions are common; replies up to the largest; failures
/// of every kind; results in any order and number; a cancellation at any point or none.
pub(super) fn world() -> impl Strategy<Value = World> {
    let asks = proptest::collection::vec(ask(), 0..8);
    let ends = proptest::collection::vec(end(), 1..8);
    let cancel_after = proptest::option::weighted(0.4, 1_usize..20);
    let stop_after = proptest::option::weighted(0.4, 1_usize..12);
    let park_after = proptest::option::weighted(0.4, 1_usize..12);
    let breaks = (cancel_after, stop_after, park_after);
    let ruling = prop_oneof![
        3 => Just(Ruling::Approved { until: Millis(9) }),
        1 => Just(Ruling::Denied { note: Some("no".into()) }),
        1 => Just(Ruling::TimedOut),
        1 => Just(Ruling::Lapsed),
    ];
    let rulings = proptest::collection::vec(ruling, 1..5);
    (0_u32..6, asks, ends, breaks, (0_usize..3, rulings, any::<bool>())).prop_map(
        |(max_rounds, asks, ends, (cancel_after, stop_after, park_after), (fallbacks, rulings, starts))| {
            World {
                max_rounds,
                asks,
                ends,
                cancel_after,
                stop_after,
                park_after,
                fallbacks,
                rulings,
                starts,
            }
        },
    )
}

fn ask() -> impl Strategy<Value = Ask> {
    let few = proptest::collection::vec(asked(), 0..6);
    let many = proptest::collection::vec(asked(), 30..=64);
    let calls = prop_oneof![9 => few, 1 => many];
    let usage = (0_u64..500, 0_u64..50);
    let usage = usage.prop_map(|(input_tokens, output_tokens)| Usage::of(input_tokens, output_tokens));
    let kind = prop_oneof![4 => Just(ModelFailureKind::Retryable), 1 => Just(ModelFailureKind::FailFast)];
    let fail = (kind, proptest::option::of(0_u64..70_000));
    prop_oneof![
        4 => (calls, usage).prop_map(|(calls, usage)| Ask::Reply { calls, usage }),
        1 => fail.prop_map(|(kind, retry_after_ms)| Ask::Fail { kind, retry_after_ms }),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let check = prop_oneof![6 => Just(Check::Passes), 1 => Just(Check::Faulty), 1 => Just(Check::Denied),
        1 => Just(Check::Asks)];
    (0..TOOLS.len(), 0_u8..3, check).prop_map(|(tool, argument, check)| Asked {
        tool,
        argument,
        check,
    })
}

fn end() -> impl Strategy<Value = End> {
    let status =
        prop_oneof![4 => Just(Status::Ok), 1 => Just(Status::Failed), 1 => Just(Status::OutcomeUnknown)];
    let ended = (1_usize..4, any::<bool>(), status);
    ended.prop_map(|(at_once, newest_first, status)| End {
        at_once,
        newest_first,
        status,
    })
}
