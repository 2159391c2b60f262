//! Generators of simulated runs.

use proptest::prelude::*;

use super::simulated_run::{Ask, AskedDecision, Check, End, SimulatedRun, TOOLS};
use crate::conversation::Usage;
use crate::decision::ApprovalOutcome;
use crate::failure::ModelFailureKind;
use crate::step::StepStatus;
use crate::time::Millis;

/// Generates any simulated run: few tools and arguments, so that identical actions are common; replies up
/// to the largest; failures of every kind; results in any order and number; an optional cancellation at any
/// point.
pub(super) fn any_run() -> impl Strategy<Value = SimulatedRun> {
    let asks = proptest::collection::vec(ask(), 0..8);
    let ends = proptest::collection::vec(end(), 1..8);
    let cancel_after = proptest::option::weighted(0.4, 1_usize..20);
    let stop_after = proptest::option::weighted(0.4, 1_usize..12);
    let park_after = proptest::option::weighted(0.4, 1_usize..12);
    let breaks = (cancel_after, stop_after, park_after);
    let ruling = prop_oneof![
        3 => any::<bool>().prop_map(|opens_hosts| ApprovalOutcome::Approved { until: Millis(9), opens_hosts }),
        1 => Just(ApprovalOutcome::Denied { note: Some("no".into()) }),
        1 => Just(ApprovalOutcome::TimedOut),
        1 => Just(ApprovalOutcome::Expired),
    ];
    let rulings = proptest::collection::vec(ruling, 1..5);
    (0_u32..6, asks, ends, breaks, (0_usize..3, rulings, any::<bool>())).prop_map(
        |(max_rounds, asks, ends, (cancel_after, stop_after, park_after), (fallbacks, rulings, starts))| {
            SimulatedRun {
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

fn asked() -> impl Strategy<Value = AskedDecision> {
    let check = prop_oneof![6 => Just(Check::Passes), 1 => Just(Check::Faulty), 1 => Just(Check::Denied),
        1 => Just(Check::Asks)];
    (0..TOOLS.len(), 0_u8..3, check).prop_map(|(tool, argument, check)| AskedDecision {
        tool,
        argument,
        check,
    })
}

fn end() -> impl Strategy<Value = End> {
    let status = prop_oneof![4 => Just(StepStatus::Ok), 1 => Just(StepStatus::Failed), 1 => Just(StepStatus::OutcomeUnknown)];
    let ended = (1_usize..4, any::<bool>(), status);
    ended.prop_map(|(at_once, newest_first, status)| End {
        at_once,
        newest_first,
        status,
    })
}
