//! Single cases: approvals, brakes and automatic retries.

use serde_json::json;

use super::case::open;
use super::simulated_run::{AskedDecision, Check, PlayedRun, asks_for, call};
use crate::decision::{ApprovalOutcome, ApprovalRequest, DecisionKind, ProposedAction};
use crate::id::PolicyVersion;
use crate::key::{Digest, OperationId};
use crate::policy::{FOREIGN_TARGET, HostScope, PathAccess, PathScope, PolicyEffect, PolicyVerdict, Target};
use crate::report::EventKind;
use crate::retry::RetryPolicy;
use crate::run::{DecisionWrite, InputReads, Restriction, RunInput, RunOutcome, RunPhase, UnexpectedInput};
use crate::step::{EffectClass, RetryAfter, StepResult, StepStatus};
use crate::time::Millis;

const APPROVED: ApprovalOutcome = ApprovalOutcome::Approved {
    until: Millis(100),
    opens_hosts: false,
};

fn asking(tool: &str, argument: u8) -> AskedDecision {
    AskedDecision {
        check: Check::Asks,
        ..call(tool, argument)
    }
}

/// Returns the approval requests of the newest transition.
fn asked(played: &PlayedRun) -> Vec<ApprovalRequest> {
    let writes = played.last().decisions.iter();
    let asked = writes.filter_map(|write| match write {
        DecisionWrite::Ask(inquiry) => Some((**inquiry).clone()),
        DecisionWrite::Apply(_) | DecisionWrite::Withdraw(_) => None,
    });
    asked.collect()
}

fn answer(played: &mut PlayedRun, ruling: ApprovalOutcome) {
    let decision = played.turn.waits_on().expect("it waits for an answer");
    played.take(
        RunInput::Decided {
            decision_id: decision,
            ruling,
        },
        InputReads::default(),
    );
}

#[test]
fn an_answer_that_opens_hosts_holds_for_the_rest_of_the_run() {
    let host = |scope| Target::Host {
        host: "pkg.example".to_owned(),
        port: 443,
        scope,
    };
    let request = |rule: &str, class, targets| {
        let action = ProposedAction {
            operation_id: OperationId(Digest::of(b"operation")),
            tool: "Shell",
            input: "{}",
            class,
            risk: None,
        };
        let request = ApprovalRequest::new(action, rule, None).with_targets(class, targets);
        request
            .options
            .into_iter()
            .map(|option| option.id)
            .collect::<Vec<_>>()
    };
    let plain = EffectClass::Plain;
    let with_hosts = ["approve", "approve_hosts", "deny"];
    assert_eq!(
        request(FOREIGN_TARGET, plain, vec![host(HostScope::Allowed)]),
        with_hosts
    );
    for other in [
        request(FOREIGN_TARGET, plain, vec![host(HostScope::Unlisted)]),
        request(FOREIGN_TARGET, plain, Vec::new()),
        request(
            FOREIGN_TARGET,
            EffectClass::Idempotent,
            vec![host(HostScope::Allowed)],
        ),
        request("ask_tool", plain, vec![host(HostScope::Allowed)]),
    ] {
        assert_eq!(other, ["approve", "deny"]);
    }
    for opens_hosts in [false, true] {
        let mut played = PlayedRun::begun(9);
        played.ask(&asks_for(&[asking("Shell", 0)]));
        answer(
            &mut played,
            ApprovalOutcome::Approved {
                until: Millis(100),
                opens_hosts,
            },
        );
        assert_eq!(played.turn.has_open_hosts, opens_hosts);
    }
}

#[test]
fn an_action_that_needs_approval_waits_and_begins_after_it() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0)]));
    assert_eq!(open(&played), Vec::<String>::new());
    let questions = asked(&played);
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].kind, DecisionKind::ToolApproval);
    assert_eq!(played.turn.waits_on(), Some(questions[0].decision_id));
    assert!(
        played
            .last()
            .events
            .iter()
            .any(|event| event.kind() == EventKind::DecisionAsked)
    );
    answer(&mut played, APPROVED);
    assert_eq!(open(&played), ["c0_0"]);
    assert_eq!(
        played.last().decisions,
        [DecisionWrite::Apply(questions[0].decision_id)]
    );
    assert_eq!(played.turn.waits_on(), None);
}

#[test]
fn a_denial_is_a_result_for_the_model_and_the_run_continues() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0)]));
    let note = Some("not on a Friday".to_owned());
    answer(&mut played, ApprovalOutcome::Denied { note });
    let receipt = played.receipt("c0_0");
    assert_eq!(receipt["kind"], "denied_by_person");
    assert!(
        receipt["message"]
            .as_str()
            .expect("text")
            .contains("not on a Friday")
    );
    assert!(matches!(
        played.turn.phase,
        RunPhase::Modelling { attempt: 1, .. }
    ));
}

#[test]
fn an_action_without_a_decision_in_time_is_not_performed() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0)]));
    answer(&mut played, ApprovalOutcome::TimedOut);
    assert_eq!(played.receipt("c0_0")["kind"], "decision_timed_out");
}

#[test]
fn an_approval_request_blocks_later_actions_and_no_earlier_ones() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Read", 0), asking("Mail", 0), call("Read", 1)]));
    assert_eq!(open(&played), ["c0_0"]);
    assert_eq!(played.turn.waits_on(), None, "something is under way");
    played.end_all(StepStatus::Ok);
    assert!(played.turn.waits_on().is_some());
    answer(&mut played, APPROVED);
    assert_eq!(open(&played), ["c0_1"]);
    played.end_all(StepStatus::Ok);
    assert_eq!(open(&played), ["c0_2"]);
}

#[test]
fn after_an_unknown_outcome_an_identical_action_needs_approval() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0)]));
    played.end_all(StepStatus::OutcomeUnknown);
    played.ask(&asks_for(&[call("Shell", 0), call("Shell", 1)]));
    let questions = asked(&played);
    assert_eq!(questions.len(), 1, "another argument is another action");
    assert_eq!(questions[0].kind, DecisionKind::OutcomeUnknown);
    assert!(
        questions[0].retries.is_some(),
        "the new action is linked to the one it repeats"
    );
    answer(&mut played, APPROVED);
    assert_eq!(open(&played), ["c1_0"]);
}

#[test]
fn an_expired_approval_is_requested_again() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0), asking("Mail", 0)]));
    let first = asked(&played).remove(0);
    // The decision is answered while the first action still runs. The driver checks only when it is
    // blocked, so the answer arrives here, right after the action has ended.
    played.end_all(StepStatus::Ok);
    let late = InputReads {
        now: Some(Millis(100)),
        ..InputReads::default()
    };
    let decided = RunInput::Decided {
        decision_id: first.decision_id,
        ruling: APPROVED,
    };
    played.take(decided, late);
    assert_eq!(open(&played), Vec::<String>::new(), "the permission has run out");
    assert_eq!(played.turn.expired_approval(Millis(99)), None);
    assert_eq!(played.turn.expired_approval(Millis(100)), Some(first.decision_id));
    let inquiry = Box::new(first.clone());
    played.take(RunInput::ApprovalExpired { inquiry }, InputReads::default());
    let again = asked(&played).remove(0);
    assert_ne!(again.decision_id, first.decision_id);
    assert_eq!(played.turn.waits_on(), Some(again.decision_id));
    answer(&mut played, APPROVED);
    assert_eq!(open(&played), ["c0_1"]);
}

#[test]
fn an_answer_to_another_decision_is_rejected() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0)]));
    let decision_id = played.turn.waits_on().expect("a question");
    answer(&mut played, APPROVED);
    let ruling = APPROVED;
    let again = played
        .turn
        .clone()
        .apply(&InputReads::default(), RunInput::Decided { decision_id, ruling });
    assert!(matches!(again, Err(UnexpectedInput::ForeignDecision(one)) if one == decision_id));
}

#[test]
fn cancelling_a_run_that_waits_for_approval_withdraws_the_request() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0), asking("Mail", 0)]));
    let questions = asked(&played);
    played.take(RunInput::Cancelled, InputReads::default());
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Cancelled));
    let withdrawn: Vec<_> = questions
        .iter()
        .map(|one| DecisionWrite::Withdraw(one.decision_id))
        .collect();
    assert_eq!(played.last().decisions, withdrawn);
}

#[test]
fn under_a_brake_a_result_is_recorded_and_nothing_new_begins() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0), call("Mail", 0)]));
    let effects = played.turn.pending_effects();
    let results = vec![played.result(&effects[0], StepStatus::Ok)];
    let braked = InputReads {
        hold: true,
        ..InputReads::default()
    };
    played.take(RunInput::Settled { results }, braked);
    assert_eq!(played.turn.pending_effects(), []);
    assert_eq!(played.turn.outcome(), None);
    played.take(RunInput::Settled { results: vec![] }, InputReads::default());
    assert_eq!(open(&played), ["c0_1"], "once the brake is released");
}

fn failed_for_now(played: &mut PlayedRun) -> StepResult {
    let effects = played.turn.pending_effects();
    StepResult {
        code: Some("busy".into()),
        again: Some(RetryAfter { after_ms: None }),
        ..played.result(&effects[0], StepStatus::Failed)
    }
}

/// Ends the wait before a retry.
fn end_wait(played: &mut PlayedRun) {
    played.take(RunInput::Settled { results: Vec::new() }, InputReads::default());
}

fn retrying(played: &mut PlayedRun, tool: &str) {
    let (input, mut reads) = played.reply(&[call(tool, 0)], crate::conversation::Usage::default());
    for read in &mut reads.calls {
        read.retry = Some(RetryPolicy::REPEATABLE);
    }
    played.take(input, reads);
}

#[test]
fn a_repeatable_action_is_retried_after_transient_failures_until_attempts_end() {
    let mut played = PlayedRun::begun(9);
    retrying(&mut played, "Read");
    let mut waits = Vec::new();
    for attempt in 1..=RetryPolicy::REPEATABLE.attempts {
        assert_eq!(open(&played), ["c0_0"], "attempt {attempt}");
        let results = vec![failed_for_now(&mut played)];
        played.take(RunInput::Settled { results }, InputReads::default());
        if let RunPhase::Acting { delay_ms, .. } = &played.turn.phase {
            waits.push(*delay_ms);
            end_wait(&mut played);
        }
    }
    assert_eq!(waits.len(), 4, "{waits:?}");
    assert!(
        waits.windows(2).all(|pair| pair[0] < pair[1] * 2) && waits[0] >= 50,
        "{waits:?}"
    );
    assert!(matches!(played.turn.phase, RunPhase::Modelling { .. }));
}

// Conformance: A-41
#[test]
fn a_plain_action_is_never_retried_automatically() {
    let mut played = PlayedRun::begun(9);
    retrying(&mut played, "Shell");
    let results = vec![failed_for_now(&mut played)];
    played.take(RunInput::Settled { results }, InputReads::default());
    assert!(
        matches!(played.turn.phase, RunPhase::Modelling { .. }),
        "{:?}",
        played.turn.phase
    );
    let event = played.steps.last().expect("a step").moved.events.first().cloned();
    assert_eq!(json!(event.expect("an event").body)["status"], json!("failed"));
}

// Conformance: A-41
/// The tool host sets the retry policy: one tool is retried once, the other is not retried.
#[test]
fn each_tool_is_retried_by_its_own_policy() {
    let tried = |attempts: Option<u32>| {
        let mut played = PlayedRun::begun(9);
        let (input, mut reads) = played.reply(&[call("Read", 0)], crate::conversation::Usage::default());
        reads.calls[0].retry = attempts.map(|attempts| RetryPolicy {
            attempts,
            ..RetryPolicy::REPEATABLE
        });
        played.take(input, reads);
        let mut tried = 0;
        while !open(&played).is_empty() {
            tried += 1;
            let results = vec![failed_for_now(&mut played)];
            played.take(RunInput::Settled { results }, InputReads::default());
            if played.turn.phase.delay_ms() > 0 {
                end_wait(&mut played);
            }
        }
        tried
    };
    assert_eq!((tried(None), tried(Some(2)), tried(Some(7))), (1, 2, 7));
}

/// Ends a postponed action's wait under stricter rules for this effect.
fn restricted(played: &PlayedRun, call_id: &str, effect: PolicyEffect) -> InputReads {
    let RunPhase::Acting { actions, .. } = &played.turn.phase else {
        panic!("does not act")
    };
    let action = actions.iter().find(|action| action.call_id == call_id);
    InputReads {
        restricted: vec![Restriction {
            evidence: None,
            stop: None,
            risk: None,
            diff: None,
            targets: Vec::new(),
            constraint: None,
            guardrails: Vec::new(),
            operation_id: action.expect("an action").operation_id,
            preview: "{}".to_owned(),
            verdict: PolicyVerdict {
                effect,
                rule: "ask_tool".to_owned(),
                policy_version: PolicyVersion::new("rules-2"),
            },
        }],
        ..InputReads::default()
    }
}

#[test]
fn a_planned_action_asks_if_the_rules_became_stricter() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0)]));
    played.take(RunInput::Postponed, InputReads::default());
    let reads = restricted(&played, "c0_0", PolicyEffect::Ask);
    played.take(RunInput::Settled { results: Vec::new() }, reads.clone());
    assert_eq!(open(&played), Vec::<String>::new());
    assert_eq!(asked(&played).len(), 1);
    answer(&mut played, APPROVED);
    assert_eq!(open(&played), ["c0_0"]);
    played.take(RunInput::Postponed, InputReads::default());
    played.take(RunInput::Settled { results: Vec::new() }, reads);
    assert_eq!(open(&played), ["c0_0"], "an approved action does not ask again");
}

fn file(path: &str) -> Vec<Target> {
    vec![Target::Path {
        path: path.to_owned(),
        access: PathAccess::Write,
        scope: PathScope::Outside,
    }]
}

#[test]
fn an_approval_of_other_targets_asks_again() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0)]));
    let first = asked(&played)[0].decision_id;
    answer(&mut played, APPROVED);
    played.take(RunInput::Postponed, InputReads::default());
    let mut reads = restricted(&played, "c0_0", PolicyEffect::Ask);
    reads.restricted[0].targets = file("/outside/keys");
    played.take(RunInput::Settled { results: Vec::new() }, reads.clone());
    assert_eq!(open(&played), Vec::<String>::new());
    let second = asked(&played);
    assert_eq!(second[0].targets, file("/outside/keys"));
    assert_ne!(second[0].decision_id, first);
    answer(&mut played, APPROVED);
    assert_eq!(open(&played), ["c0_0"]);
    played.take(RunInput::Postponed, InputReads::default());
    played.take(RunInput::Settled { results: Vec::new() }, reads);
    assert_eq!(open(&played), ["c0_0"], "these targets are approved");
}

#[test]
fn an_approval_after_an_unknown_outcome_covers_only_its_targets() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0)]));
    played.end_all(StepStatus::OutcomeUnknown);
    played.ask(&asks_for(&[call("Shell", 0)]));
    assert_eq!(asked(&played)[0].kind, DecisionKind::OutcomeUnknown);
    answer(&mut played, APPROVED);
    let RunPhase::Acting { actions, .. } = &played.turn.phase else {
        panic!("does not act")
    };
    let question = actions[0].question.as_ref().expect("it was asked about");
    assert!(question.covers(&[]));
    assert!(!question.covers(&file("/outside/keys")));
}

#[test]
fn a_retry_is_intended_only_after_its_wait() {
    let mut played = PlayedRun::begun(9);
    retrying(&mut played, "Read");
    let after_ms = Some(5_000);
    let result = StepResult {
        again: Some(RetryAfter { after_ms }),
        ..failed_for_now(&mut played)
    };
    played.take(
        RunInput::Settled {
            results: vec![result],
        },
        InputReads::default(),
    );
    assert_eq!((open(&played), played.turn.phase.delay_ms()), (Vec::new(), 5_000));
    end_wait(&mut played);
    assert_eq!(
        (open(&played), played.turn.phase.delay_ms()),
        (vec!["c0_0".to_owned()], 0)
    );
}

#[test]
fn an_action_that_waits_for_an_answer_is_denied_if_the_rules_became_stricter() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Read", 0), asking("Mail", 0), call("Read", 1)]));
    let question = asked(&played)[0].decision_id;
    let effects = played.turn.pending_effects();
    let results = vec![played.result(&effects[0], StepStatus::Ok)];
    let reads = restricted(&played, "c0_1", PolicyEffect::Deny);
    played.take(RunInput::Settled { results }, reads);
    assert_eq!(played.last().decisions, [DecisionWrite::Withdraw(question)]);
    assert_eq!(
        (open(&played), played.turn.waits_on()),
        (vec!["c0_2".to_owned()], None)
    );
    played.end_all(StepStatus::Ok);
    assert_eq!(played.receipt("c0_1")["kind"], "ask_tool");
}

#[test]
fn a_planned_action_is_denied_if_the_rules_became_stricter() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[asking("Shell", 0)]));
    answer(&mut played, APPROVED);
    played.take(RunInput::Postponed, InputReads::default());
    let reads = restricted(&played, "c0_0", PolicyEffect::Deny);
    played.take(RunInput::Settled { results: Vec::new() }, reads);
    assert_eq!(played.receipt("c0_0")["kind"], "ask_tool");
    assert!(matches!(played.turn.phase, RunPhase::Modelling { .. }));
}
