//! What guardrails and hooks block, and the events of both.

use super::simulated_run::{PlayedRun, call};
use crate::conversation::{Role, Usage};
use crate::guardrail::{GUARDRAIL, GuardrailAction, GuardrailPlace, GuardrailTrip};
use crate::hook::{HookEvent, HookResult};
use crate::report::EventKind;
use crate::report::payload::HookExecuted;
use crate::run::{AttemptCost, HOOK_BLOCKED, InputReads, RunInput, RunOutcome, blocked_message};

fn trip(place: GuardrailPlace, action: GuardrailAction) -> GuardrailTrip {
    GuardrailTrip {
        place,
        name: "g".to_owned(),
        description: String::new(),
        action,
    }
}

fn kinds(played: &PlayedRun) -> Vec<EventKind> {
    let events = played.steps.iter().flat_map(|step| &step.moved.events);
    events.map(crate::report::EventDraft::kind).collect()
}

fn failure_of(played: &PlayedRun) -> &str {
    let Some(RunOutcome::Failed(artifact)) = played.turn.outcome() else {
        panic!("{:?}", played.turn.phase)
    };
    &artifact.kind
}

#[test]
fn a_blocked_message_is_sent_to_no_other_model() {
    for code in [GUARDRAIL, HOOK_BLOCKED] {
        let mut played = PlayedRun::routed(9, 2);
        let input = RunInput::AttemptFailed {
            failure: blocked_message(code, "no"),
            duration_ms: 0,
            bill: AttemptCost::default(),
        };
        played.take(input, InputReads::default());
        assert_eq!(failure_of(&played), code);
    }
}

#[test]
fn a_blocked_reply_ends_the_run_with_a_result_for_each_call() {
    let mut played = PlayedRun::begun(9);
    let (input, reads) = played.reply(&[call("Shell", 0), call("Read", 1)], Usage::default());
    let guardrails = vec![trip(GuardrailPlace::Output, GuardrailAction::Block)];
    played.take(input, InputReads { guardrails, ..reads });
    assert_eq!(failure_of(&played), GUARDRAIL);
    assert!(played.turn.pending_effects().is_empty());
    let roles: Vec<Role> = played.entries.iter().map(|entry| entry.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool]);
    assert!(!kinds(&played).contains(&EventKind::PolicyDecided));
}

#[test]
fn what_warns_and_what_ran_is_recorded_before_the_rest() {
    let mut played = PlayedRun::begun(9);
    let (input, reads) = played.reply(&[call("Read", 0)], Usage::default());
    let hook = HookExecuted {
        hook_event: HookEvent::PreToolUse,
        hook: "./check".to_owned(),
        source: "hooks.json".to_owned(),
        result: HookResult::Passed,
        reason: String::new(),
        duration_ms: 1,
        tool: Some("Read".to_owned()),
        call_id: None,
        operation_id: None,
    };
    let reads = InputReads {
        guardrails: vec![
            trip(GuardrailPlace::Output, GuardrailAction::Warn),
            trip(GuardrailPlace::Input, GuardrailAction::Block),
        ],
        hooks: vec![hook],
        ..reads
    };
    played.take(input, reads);
    assert_eq!(played.turn.outcome(), None);
    assert_eq!(
        kinds(&played)[1..4],
        [
            EventKind::GuardrailTripped,
            EventKind::GuardrailTripped,
            EventKind::HookExecuted
        ]
    );
}
