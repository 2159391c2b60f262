//! Single cases: attempts, rounds, plans, unknown outcomes, cancellation, and the largest states.

use std::collections::BTreeMap;

use serde_json::json;

use super::simulated_run::{Ask, AskedDecision, Check, End, PlayedRun, asks_for, call, run_key};
use crate::conversation::{Block, CALLS_PER_REPLY_MAX, CALLS_PER_ROUND_MAX, Role, ToolCall, Usage};
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use crate::id::PolicyVersion;
use crate::key::Digest;
use crate::policy;
use crate::report::EventKind;
use crate::retry::{RETRY_AFTER_MS_MAX, RetryPolicy};
use crate::run::{
    ATTEMPTS_MAX, AttemptCost, Effect, InputReads, RunInput, RunMachine, RunOutcome, RunPhase,
    STATE_BYTES_MAX, reply,
};
use crate::step::{CALL_ID_BYTES_MAX, CallReads, EffectClass, PriorActions, StepStatus, TOOL_NAME_CHARS_MAX};

fn fails(kind: ModelFailureKind, retry_after_ms: Option<u64>) -> Ask {
    Ask::Fail { kind, retry_after_ms }
}

/// Returns the wait before the next request, or the failure code of the run.
fn waits(played: &PlayedRun) -> Result<u64, String> {
    match played.turn.pending_effects().as_slice() {
        [Effect::CallModel { delay_ms, .. }] => Ok(*delay_ms),
        _ => Err(played.turn.outcome().expect("an end").status().to_string()),
    }
}

/// Returns the ids of the calls in progress.
pub(super) fn open(played: &PlayedRun) -> Vec<String> {
    let effects = played.turn.pending_effects();
    let ids = effects.iter().filter_map(|effect| match effect {
        Effect::Act { call_id, .. } => Some(call_id.clone()),
        Effect::CallModel { .. } => None,
    });
    ids.collect()
}

fn roles(played: &PlayedRun) -> Vec<Role> {
    played.entries.iter().map(|entry| entry.role).collect()
}

// Conformance: L-148
/// Operation ids depend on the action and not on its position, so reordered calls keep their ids.
#[test]
fn reordered_actions_keep_their_operation_ids() {
    let named = |calls: &[AskedDecision]| -> BTreeMap<(usize, u8), _> {
        let mut played = PlayedRun::begun(9);
        played.ask(&asks_for(calls));
        let RunPhase::Acting { actions, .. } = &played.turn.phase else {
            panic!("does not act")
        };
        let named = calls.iter().zip(actions);
        named
            .map(|(call, action)| ((call.tool, call.argument), action.operation_id))
            .collect()
    };
    let calls = [
        call("Shell", 0),
        call("Mail", 0),
        call("Shell", 1),
        call("Task", 0),
    ];
    let mut turned = calls.clone();
    turned.reverse();
    assert_eq!(named(&calls).len(), calls.len());
    assert_eq!(named(&turned), named(&calls));
    turned.swap(0, 2);
    assert_eq!(named(&turned), named(&calls));
}

/// The stored hashes of each call can be recomputed from the reply and the workspace.
#[test]
fn each_call_is_stored_with_the_hashes_of_arguments_and_scope() {
    let (input, scope) = (
        json!({"b": [1, 2], "a": "x"}),
        json!({"workspace": "/home/person"}),
    );
    let blocks = [Block::ToolUse(ToolCall {
        call_id: "a".into(),
        name: "T".into(),
        input: input.clone(),
    })];
    let (reply, _) = reply::read(&blocks, Usage::default(), &scope).expect("good");
    let parts = &reply.calls[0].parts;
    let hash = |value: &serde_json::Value| Digest::of(&crate::json::canonical(value).expect("canonical"));
    assert_eq!(parts.tool, "T");
    assert_eq!((parts.arguments, parts.scope), (hash(&input), hash(&scope)));
    assert_eq!(parts.arguments, Digest::of(br#"{"a":"x","b":[1,2]}"#));
}

// Conformance: H-009, A-40, A-95
#[test]
fn a_round_is_attempted_three_times_with_growing_waits() {
    let mut played = PlayedRun::begun(9);
    let mut seen = vec![waits(&played)];
    for _ in 0..ATTEMPTS_MAX {
        played.ask(&fails(ModelFailureKind::Retryable, None));
        seen.push(waits(&played));
    }
    let [Ok(0), Ok(first), Ok(second), Err(failed)] = &seen[..] else {
        panic!("{seen:?}")
    };
    // Jitter keeps clients that failed together from retrying together.
    assert!(
        (125..=250).contains(first) && (250..=500).contains(second),
        "{seen:?}"
    );
    assert_eq!(failed, "failed");
    let Some(RunOutcome::Failed(artifact)) = played.turn.outcome() else {
        panic!("did not fail")
    };
    assert_eq!(artifact.metadata["attempts"], "3");
    assert_eq!(played.turn.requests, 3);
    let shown: Vec<&str> = played
        .steps
        .iter()
        .flat_map(|step| &step.moved.events)
        .map(|e| e.kind().as_str())
        .collect();
    assert_eq!(shown[1..4], ["provider_round_completed"; 3]);
    assert_eq!(shown[4..], ["runtime_error", "run_ended"]);
}

// Conformance: A-40, A-95
#[test]
fn a_permanent_failure_is_not_retried() {
    let mut played = PlayedRun::begun(9);
    played.ask(&fails(ModelFailureKind::FailFast, Some(1)));
    assert_eq!(waits(&played), Err("failed".into()));
    assert_eq!(
        json!(played.last().events[0].body)["outcome"],
        "fail_fast_aborted"
    );
}

// Conformance: A-40
#[test]
fn the_wait_requested_by_a_provider_is_kept_up_to_a_minute() {
    for (asked, expected) in [
        (0, Ok(0)),
        (1_234, Ok(1_234)),
        (RETRY_AFTER_MS_MAX, Ok(60_000)),
        (RETRY_AFTER_MS_MAX + 1, Err("failed".to_owned())),
        (u64::MAX, Err("failed".to_owned())),
    ] {
        let mut played = PlayedRun::begun(9);
        played.ask(&fails(ModelFailureKind::Retryable, Some(asked)));
        assert_eq!(waits(&played), expected, "asked for {asked}");
    }
}

#[test]
fn attempts_restart_from_one_in_every_round() {
    let mut played = PlayedRun::begun(9);
    for _ in 0..3 {
        played.ask(&fails(ModelFailureKind::Retryable, None));
        played.ask(&fails(ModelFailureKind::Retryable, None));
        played.ask(&asks_for(&[call("Read", 0)]));
        played.end_all(StepStatus::Ok);
    }
    assert_eq!(waits(&played), Ok(0));
    assert_eq!((played.turn.rounds, played.turn.requests), (3, 9));
}

#[test]
fn the_last_round_is_performed_before_the_run_is_out_of_rounds() {
    let mut played = PlayedRun::begun(2);
    played.ask(&asks_for(&[call("Shell", 0)]));
    played.end_all(StepStatus::Ok);
    played.ask(&asks_for(&[call("Shell", 1), call("Shell", 2)]));
    played.end_all(StepStatus::Ok);
    assert_eq!(
        played.turn.outcome(),
        None,
        "an action of the last round has not begun yet"
    );
    played.end_all(StepStatus::Failed);
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::OutOfRounds));
    use Role::{Assistant, Tool, User};
    assert_eq!(roles(&played), [User, Assistant, Tool, Assistant, Tool, Tool]);
}

#[test]
fn an_answer_without_calls_completes_the_run_with_that_reply() {
    let mut played = PlayedRun::begun(1);
    played.ask(&asks_for(&[]));
    let reply = played.entries[1].content;
    assert_eq!(
        played.turn.phase,
        RunPhase::Ended {
            outcome: RunOutcome::Completed,
            reply: Some(reply)
        }
    );
    assert_eq!(played.turn.usage, Usage::of(3, 1));
}

#[test]
fn a_refused_call_is_a_result_and_the_run_continues() {
    let mut played = PlayedRun::begun(9);
    let refused = |check| AskedDecision {
        check,
        ..call("Shell", 0)
    };
    played.ask(&asks_for(&[refused(Check::Denied), refused(Check::Faulty)]));
    assert_eq!(waits(&played), Ok(0), "asks again at once");
    assert_eq!(played.receipt("c0_0")["kind"], "denied_by_policy");
    assert_eq!(played.receipt("c0_1")["kind"], "invalid_arguments");
    let verdicts = played
        .last()
        .events
        .iter()
        .filter(|event| event.kind() == EventKind::PolicyDecided);
    let shown: Vec<_> = verdicts
        .map(|event| {
            (
                json!(event.body)["effect"].clone(),
                json!(event.body)["status"].clone(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (json!("deny"), json!("denied")),
            (json!("permit"), json!("failed"))
        ]
    );
}

#[test]
fn calls_beyond_the_limit_are_refused_and_the_others_performed() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&vec![call("Read", 0); CALLS_PER_REPLY_MAX]));
    assert_eq!(open(&played).len(), CALLS_PER_ROUND_MAX);
    played.end_all(StepStatus::Ok);
    assert_eq!(played.receipt("c0_32")["kind"], "too_many_calls");
    assert_eq!(played.entries.len(), 2 + CALLS_PER_REPLY_MAX);
}

#[test]
fn plain_actions_begin_one_by_one_and_repeatable_ones_together() {
    let mut played = PlayedRun::begun(9);
    let names = ["Read", "Note", "Shell", "Mail", "Read", "Note"];
    let plan: Vec<AskedDecision> = names.iter().map(|name| call(name, 0)).collect();
    played.ask(&asks_for(&plan));
    let mut seen = vec![];
    while !open(&played).is_empty() {
        seen.push(open(&played));
        played.end_all(StepStatus::Ok);
    }
    assert_eq!(
        seen,
        [
            vec!["c0_0", "c0_1"],
            vec!["c0_2"],
            vec!["c0_3"],
            vec!["c0_4", "c0_5"]
        ]
    );
}

#[test]
fn results_may_arrive_one_by_one_and_no_effect_is_repeated() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Read", 0), call("Read", 1), call("Shell", 0)]));
    played.end(&End {
        at_once: 1,
        newest_first: true,
        status: StepStatus::Ok,
    });
    assert_eq!(played.last().effects, []);
    assert_eq!(open(&played), ["c0_0"]);
    played.end(&End {
        at_once: 1,
        newest_first: false,
        status: StepStatus::Ok,
    });
    assert_eq!(open(&played), ["c0_2"]);
}

#[test]
fn an_unknown_outcome_cancels_identical_actions_of_the_same_plan() {
    let mut played = PlayedRun::begun(9);
    let twice = [call("Shell", 0), call("Mail", 0), call("Shell", 0)];
    played.ask(&asks_for(&twice));
    played.end_all(StepStatus::OutcomeUnknown);
    assert_eq!(open(&played), ["c0_1"]);
    let event = played.last().events.last().expect("an event");
    assert_eq!(
        (&json!(event.body)["status"], &json!(event.body)["code"]),
        (&json!("denied"), &json!("outcome_unknown_undecided"))
    );
    played.end_all(StepStatus::Ok);
    assert_eq!(waits(&played), Ok(0));
    assert_eq!(played.receipt("c0_2")["kind"], "outcome_unknown_undecided");
}

#[test]
fn a_run_that_waits_for_the_model_can_be_cancelled() {
    let mut played = PlayedRun::begun(9);
    played.ask(&fails(ModelFailureKind::Retryable, None));
    played.take(RunInput::Cancelled, InputReads::default());
    assert_eq!(
        played.turn.phase,
        RunPhase::Ended {
            outcome: RunOutcome::Cancelled,
            reply: None
        }
    );
    assert_eq!(roles(&played), [Role::User]);
    assert!(played.rows.values().all(|row| row.status == StepStatus::Failed));
}

#[test]
fn a_stop_reverts_unstarted_intents_and_resuming_intends_them_again() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Shell", 0), call("Shell", 1)]));
    let intended = played.turn.pending_effects();
    played.take(RunInput::Postponed, InputReads::default());
    assert_eq!(
        (played.turn.pending_effects(), played.last().effects.clone()),
        (vec![], vec![])
    );
    assert_eq!(
        played.last().events,
        [],
        "nothing happened that a person has to know"
    );
    played.take(RunInput::Settled { results: vec![] }, InputReads::default());
    assert_eq!(
        played.turn.pending_effects(),
        intended,
        "the same action under the same operation id"
    );
    played.end_all(StepStatus::Ok);
    played.end_all(StepStatus::Ok);
    assert_eq!(waits(&played), Ok(0));
}

#[test]
fn a_postponed_duplicate_of_an_unknown_action_does_not_begin_again() {
    let mut played = PlayedRun::begun(9);
    played.ask(&asks_for(&[call("Read", 0), call("Read", 0), call("Read", 1)]));
    played.end(&End {
        at_once: 1,
        newest_first: false,
        status: StepStatus::OutcomeUnknown,
    });
    played.take(RunInput::Postponed, InputReads::default());
    played.take(RunInput::Settled { results: vec![] }, InputReads::default());
    assert_eq!(
        open(&played),
        ["c0_2"],
        "only the action without an unknown identical one continues"
    );
    played.end_all(StepStatus::Ok);
    assert_eq!(waits(&played), Ok(0));
}

#[test]
fn cancelling_between_two_actions_leaves_a_result_for_every_call() {
    let mut played = PlayedRun::begun(9);
    let plan = [
        call("Shell", 0),
        AskedDecision {
            check: Check::Denied,
            ..call("Shell", 1)
        },
        call("Shell", 2),
        call("Read", 0),
    ];
    played.ask(&asks_for(&plan));
    played.end_all(StepStatus::Ok);
    played.take(RunInput::Cancelled, InputReads::default());
    assert_eq!(played.turn.outcome(), Some(&RunOutcome::Cancelled));
    let kinds: Vec<_> = (0..4)
        .map(|n| played.receipt(&format!("c0_{n}"))["kind"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            json!(null),
            json!("denied_by_policy"),
            json!("cancelled"),
            json!("cancelled")
        ]
    );
    let ended = played
        .last()
        .events
        .iter()
        .filter(|event| event.kind() == EventKind::ActionCancelled);
    assert!(
        ended
            .clone()
            .all(|event| json!(event.body)["code"] == "cancelled")
    );
    assert_eq!(ended.count(), 2, "what never began is shown too");
}

/// A run whose own fields have the largest sizes that admission accepts: a reference, the longest path, a
/// deny list.
fn longest_turn() -> RunMachine {
    let denied = (0..32).map(|n| format!("{n:02}{}", "x".repeat(TOOL_NAME_CHARS_MAX - 2)));
    let turn = RunMachine::new(run_key(), "𝄞".repeat(1_000), u32::MAX).with_denied_tools(denied.collect());
    let turn = turn.with_workspace("x".repeat(4_096));
    let begun = turn.apply(
        &InputReads::default(),
        RunInput::admitted(super::simulated_run::body()),
    );
    begun.expect("begins").turn
}

#[test]
fn the_largest_plan_is_a_small_state() {
    // Quotes are the printable characters that grow most in JSON; the clef symbol is the one that grows
    // most in UTF-8.
    let id = |n: usize| format!("{n:02}{}", "\"".repeat(CALL_ID_BYTES_MAX - 2));
    let name = "\u{1}𝄞".repeat(TOOL_NAME_CHARS_MAX);
    let block = |n| {
        Block::ToolUse(ToolCall {
            call_id: id(n),
            name: name.clone(),
            input: json!({"n": n}),
        })
    };
    let blocks: Vec<Block> = (0..CALLS_PER_REPLY_MAX).map(block).collect();
    let usage = Usage::of(u64::MAX, u64::MAX);
    let (reply, _) = reply::read(&blocks, usage, &json!({})).expect("a reply that is just small enough");
    let (effect, policy_version) = (policy::PolicyEffect::Ask, PolicyVersion::new("p".repeat(99)));
    let verdict = policy::PolicyVerdict {
        effect,
        rule: "r".repeat(999),
        policy_version,
    };
    let read = CallReads {
        evidence: None,
        linked_site: None,
        stop: None,
        risk: None,
        class: EffectClass::Idempotent,
        fault: None,
        verdict,
        retry: Some(RetryPolicy::REPEATABLE),
        seen: PriorActions::default(),
        diff: None,
        targets: Vec::new(),
        constraint: None,
        guardrails: Vec::new(),
    };
    let reads = InputReads {
        calls: vec![read; CALLS_PER_REPLY_MAX],
        ..InputReads::default()
    };
    let moved = longest_turn()
        .apply(&reads, RunInput::Replied(reply))
        .expect("fits");
    let RunPhase::Acting { actions, .. } = &moved.turn.phase else {
        panic!("does not act")
    };
    assert_eq!(actions.len(), CALLS_PER_REPLY_MAX);
    let bytes = serde_json::to_string(&moved.turn).expect("json").len();
    assert!(bytes <= STATE_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn the_largest_failure_is_a_small_state() {
    // A control character takes six bytes of JSON.
    let long = "\u{1}".repeat(9_999);
    let mut artifact = FailureArtifact::new(FailureCategory::Unknown, &long, &long);
    (artifact.provider, artifact.model_ref) = (Some(long.clone()), Some(long.clone()));
    artifact.source_chain = vec![long.clone(); 99];
    artifact.metadata = (0..99).map(|n| (format!("{n:02}{long}"), long.clone())).collect();
    let failure = ModelFailure::new(ModelFailureKind::FailFast, artifact);
    let moved = longest_turn().apply(
        &InputReads::default(),
        RunInput::AttemptFailed {
            failure,
            duration_ms: u64::MAX,
            bill: AttemptCost::default(),
        },
    );
    let bytes = serde_json::to_string(&moved.expect("fits").turn)
        .expect("json")
        .len();
    assert!(bytes <= STATE_BYTES_MAX, "{bytes} bytes");
}
