use serde_json::{Value, json};

use super::*;
use crate::report::{EventDraft, LogHead, SealedEvent};

const KEY: &str = "00000000000000000000000000000000000000000000000000000000000000ab";

fn content_of(kind: EventKind, payload: &Value) -> Option<AuditContent> {
    content(&Payload::read(kind.as_str(), payload).unwrap_or_else(|| panic!("{kind}: {payload}")))
}

fn short(content: &AuditContent) -> String {
    let AuditContent {
        decision,
        stage,
        rule,
        category,
        ..
    } = content;
    let category = category.map_or("-", DenialCategory::as_str);
    format!("{decision} {stage} {rule} {category}")
}

fn call(rest: Value) -> Value {
    let mut call = json!({"operation_id": KEY, "tool": "ExecCommand"});
    let (Some(members), Value::Object(rest)) = (call.as_object_mut(), rest) else {
        panic!("an object");
    };
    members.extend(rest);
    call
}

/// The kind and the content of an event; the decision, stage, rule and category of its entry. `CALL` stands for the
/// members that every payload about a call has.
const TABLE: &str = r#"
policy_decided | {CALL, "input": "", "effect": "permit", "rule": "registered_tool"} | permit policy registered_tool -
policy_decided | {CALL, "input": "", "effect": "ask", "rule": "ask_tool"} | ask policy ask_tool -
policy_decided | {CALL, "input": "", "effect": "permit", "rule": "registered_tool", "status": "denied", "stage": "wake_reason",
    "category": "out_of_scope", "code": "wake_reason"} | deny wake_reason registered_tool out_of_scope
connection_refused | {CALL, "effect": "deny", "host": "a.example", "port": 1, "reason": "not listed", "count": 2}
    | deny sandbox host_not_allowed out_of_scope
action_cancelled | {CALL, "status": "failed", "code": "cancelled", "stage": "execute"} | deny execute cancelled -
tool_executed | {CALL, "status": "denied", "duration_ms": 1, "code": "denied_path", "stage": "sandbox", "category": "unsafe_target"}
    | deny sandbox denied_path unsafe_target
decision_answered | {CALL, "decision_id": K, "status": "answered", "version": 2, "option": "approve", "channel": "cli"}
    | permit decision answered -
decision_answered | {CALL, "decision_id": K, "status": "answered", "version": 2, "option": "deny", "channel": "cli"}
    | deny decision answered confirmation_required
decision_answered | {CALL, "decision_id": K, "status": "cancelled", "version": 2} | deny decision cancelled confirmation_required
run_parked | {"code": "budget_exceeded", "exceeded": {"scope": "all", "resource": "money", "period": "daily",
    "max": 5, "used": 4, "needed": 2}}
    | deny quota budget_exceeded budget_exceeded
run_parked | {"code": "budget_exceeded", "action": {CALL}, "exceeded": {"scope": "run", "resource": "tool_calls",
    "period": "lifetime", "max": 5, "used": 5, "needed": 1}}
    | deny quota budget_exceeded budget_exceeded
provider_round_completed | {ATTEMPT, "failure_kind": "out_of_scope", "advanced_to_fallback": true}
    | deny scope out_of_scope out_of_scope
provider_round_completed | {ATTEMPT, "failure_kind": "budget_exceeded", "advanced_to_fallback": true}
    | deny quota budget_exceeded budget_exceeded
runtime_error | {"failure_artifact": {"category": "runtime", "kind": "secret_unavailable", "summary": "no key"}}
    | deny policy secret_unavailable secret_unavailable
"#;

// Conformance: A-173
#[test]
fn each_verdict_and_each_stop_has_an_entry() {
    let key = format!("\"{KEY}\"");
    let table = TABLE.replace("\n    ", " ").replace(": K", &format!(": {key}"));
    let table = table.replace(
        "CALL",
        &format!("\"operation_id\": {key}, \"tool\": \"ExecCommand\""),
    );
    let attempt = json!({"round": 0, "provider": "p", "model_ref": "m", "attempt": 1, "max_attempts": 1, "duration_ms": 0,
        "outcome": "fail_fast_aborted"});
    let attempt = attempt.to_string();
    let table = table.replace("ATTEMPT", attempt.trim_matches(['{', '}']));
    for row in table.lines().filter(|row| !row.is_empty()) {
        let [kind, payload, expected] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("three cells: {row}")
        };
        let kind = EventKind::parse(kind.trim()).expect(kind);
        let payload = serde_json::from_str(payload).expect(payload);
        let found = content_of(kind, &payload).unwrap_or_else(|| panic!("no entry: {row}"));
        assert_eq!(short(&found), expected, "{row}");
    }
}

#[test]
fn performed_calls_and_other_failures_have_no_entry() {
    let done = call(json!({"status": "ok", "duration_ms": 1}));
    assert_eq!(content_of(EventKind::ToolExecuted, &done), None);
    let failed =
        json!({"failure_artifact": {"category": "transport", "kind": "timeout", "summary": "no answer"}});
    assert_eq!(content_of(EventKind::RuntimeError, &failed), None);
}

#[test]
fn an_entry_has_the_position_of_its_event_in_the_log() {
    let agent = AgentId::parse("main").expect("an id");
    let decided = call(json!({"input": "", "effect": "permit", "rule": "registered_tool"}));
    let draft = EventDraft {
        policy_version: Some(PolicyVersion::new("p1")),
        ..EventDraft::new(Payload::read("policy_decided", &decided).expect("a payload"))
    };
    let run = RunKey(Digest::of(b"run"));
    let sealed = SealedEvent::new(draft, Millis(7), Some(run), [1; 32]).expect("canonical");
    let mut head = LogHead {
        next_seq: 41,
        chain_hash: Digest::ZERO,
        incarnation: crate::id::Incarnation::new("h.1"),
    };
    let entry = entry(&agent, &head.chain(&agent, sealed)).expect("an entry");
    assert_eq!((entry.seq, entry.run_key, entry.at), (41, Some(run), Millis(7)));
    assert_eq!(entry.policy_version, Some(PolicyVersion::new("p1")));
    let other = AgentId::parse("other").expect("an id");
    assert_ne!(ConsentRecord::id_of(&agent, 41), ConsentRecord::id_of(&other, 41));
    assert_ne!(ConsentRecord::id_of(&agent, 41), ConsentRecord::id_of(&agent, 42));
}

#[test]
fn a_kind_that_always_decides_has_an_entry_for_any_content() {
    for kind in EventKind::ALL {
        let samples = crate::report::payload::tests::fields(kind);
        let found = content_of(kind, &samples.0);
        assert!(found.is_some() || !is_always_audited(kind), "{kind}");
    }
}

#[test]
fn the_words_of_a_rule_are_shown_and_not_stored() {
    let words = RuleName::RegisteredTool.words();
    let decided = |reason: &str| {
        let payload =
            call(json!({"input": "", "effect": "permit", "rule": "registered_tool", "reason": reason}));
        content_of(EventKind::PolicyDecided, &payload).expect("an entry")
    };
    let (known, own) = (decided(words), decided("a person said so"));
    assert_eq!((known.reason.as_str(), known.words()), ("", words));
    assert_eq!(
        (own.reason.as_str(), own.words()),
        ("a person said so", "a person said so")
    );
}

#[test]
fn long_reasons_are_truncated() {
    let refused = call(
        json!({"effect": "deny", "host": "a.example", "port": 1, "reason": "x".repeat(5_000), "count": 2}),
    );
    let found = content_of(EventKind::ConnectionRefused, &refused).expect("an entry");
    assert_eq!(found.reason.chars().count(), PREVIEW_CHARS_MAX);
}
