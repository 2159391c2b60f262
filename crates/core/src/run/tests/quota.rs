//! Single cases: quotas at the plan and at the intent.

use std::collections::BTreeMap;

use super::case::open;
use super::simulated_run::{AskedDecision, Check, PlayedRun, call};
use crate::conversation::Usage;
use crate::decision::ApprovalOutcome;
use crate::policy::{DenialCategory, GateStage, PolicyEffect};
use crate::report::payload::Payload;
use crate::run::{InputReads, RunInput, RunPhase};
use crate::step::StepStatus;
use crate::time::Millis;
use crate::tool::{QuotaReads, QuotaUse, ToolQuota};

/// The quota of a tool with this many uses per day, of which some are taken.
fn daily(tool: &str, max: u32, used: u64) -> BTreeMap<String, QuotaReads> {
    let reads = QuotaReads {
        quota: ToolQuota {
            max_per_session: None,
            max_per_day: Some(max),
        },
        used: QuotaUse {
            current_session_count: 0,
            current_day_count: used,
        },
        since: Millis(0),
    };
    [(tool.to_owned(), reads)].into()
}

fn reply_with(played: &mut PlayedRun, calls: &[AskedDecision], quotas: BTreeMap<String, QuotaReads>) {
    let (input, reads) = played.reply(calls, Usage::default());
    played.take(input, InputReads { quotas, ..reads });
}

fn asking(tool: &str, argument: u8) -> AskedDecision {
    AskedDecision {
        check: Check::Asks,
        ..call(tool, argument)
    }
}

// Conformance
#[test]
fn a_reply_gets_the_uses_that_are_left() {
    let mut played = PlayedRun::begun(9);
    let calls = [call("Read", 0), call("Read", 1), call("Read", 2), call("Task", 0)];
    reply_with(&mut played, &calls, daily("Read", 5, 3));
    assert_eq!(open(&played), ["c0_0", "c0_1", "c0_3"]);
    let events = played.last().events.iter();
    let decided = events.filter_map(|event| {
        let Payload::PolicyDecided(decided) = &event.body.payload else {
            return None;
        };
        decided.status.is_some().then_some(decided)
    });
    let [denied] = decided.collect::<Vec<_>>()[..] else {
        panic!("one denial: {:?}", played.last().events);
    };
    assert_eq!(
        (denied.effect, denied.stage, denied.category),
        (
            PolicyEffect::Deny,
            Some(GateStage::Quota),
            Some(DenialCategory::BudgetExceeded)
        )
    );
    assert_eq!(denied.rule, "tool_quota_exceeded:Read");
    assert_eq!(denied.code.as_deref(), Some("tool_quota_exceeded"));
    played.end_all(StepStatus::Ok);
    assert_eq!(played.receipt("c0_2")["kind"], "tool_quota_exceeded");
}

#[test]
fn a_call_that_the_policy_denies_takes_no_use() {
    let mut played = PlayedRun::begun(9);
    let denied = AskedDecision {
        check: Check::Denied,
        ..call("Read", 0)
    };
    reply_with(&mut played, &[denied, call("Read", 1)], daily("Read", 1, 0));
    assert_eq!(open(&played), ["c0_1"]);
}

#[test]
fn a_use_taken_during_an_approval_is_missing_afterwards() {
    for (used, begins) in [(0, true), (1, false)] {
        let mut played = PlayedRun::begun(9);
        reply_with(
            &mut played,
            &[asking("Task", 0), call("Shell", 0)],
            daily("Task", 1, 0),
        );
        let decision_id = played.turn.waits_on().expect("a question");
        let ruling = ApprovalOutcome::Approved {
            until: Millis(100),
            opens_hosts: false,
        };
        let reads = InputReads {
            quotas: daily("Task", 1, used),
            ..InputReads::default()
        };
        played.take(RunInput::Decided { decision_id, ruling }, reads);
        assert_eq!(open(&played), [if begins { "c0_0" } else { "c0_1" }]);
        played.end_all(StepStatus::Ok);
        if !begins {
            assert_eq!(played.receipt("c0_0")["kind"], "tool_quota_exceeded");
            assert!(matches!(played.turn.phase, RunPhase::Modelling { .. }));
        }
    }
}
