//! Tests of each kind's stored form, with unknown and with missing fields.

use serde_json::{Map, Value, json};

use super::*;
use crate::id::PolicyVersion;
use crate::json::canonical;
use crate::report::{EventDraft, SealedEvent, payload_hash};
use crate::time::Millis;

/// A key of 64 digits.
pub(in crate::report) const KEY: &str = "00000000000000000000000000000000000000000000000000000000000000ab";

/// The required and the optional fields of each kind. `K` stands for a key.
const FIELDS: &str = r#"
message_admitted | {"run_key": K, "kind": "operator_prompt", "authority": "operator_instruction", "surface": "run_once",
    "context": "local_process", "text": "Hello."} | {"origin": "schedule", "priority": "next", "correlation_id": "c", "causation_id": "d",
    "source_refs": {"schedule_id": "s"}}
agent_state_changed | {"change": "created", "control": "running"} | {"mode": "hybrid"}
wake_decided | {"run_key": K, "verdict": "run"} | {"reason": "notice", "absorbed": 2, "absorbed_by": K}
run_started | {"run_key": K, "model_ref": "scripted:a", "max_rounds": 5} | {}
provider_round_completed | {"round": 0, "provider": "p", "model_ref": "p:m", "attempt": 1, "max_attempts": 3, "duration_ms": 7,
    "outcome": "retrying"} | {"failure_kind": "timeout", "disposition": "retryable", "advanced_to_fallback": true, "backoff_ms": 5,
    "token_usage": {"input_tokens": 1, "output_tokens": 2}, "cost": 3, "rule": "r", "transport_diagnostics": {"stage": "connect"}}
assistant_round_recorded | {"round": 1} | {"text": "Hm.", "tools": ["Exec"]}
policy_decided | {"operation_id": K, "tool": "Exec", "input": "", "effect": "permit", "rule": "r"} | {"status": "denied", "code": "denied_tool",
    "reason": "no", "targets": [{"kind": "agent", "agent_id": "b"}], "steps": ["record", "refuse"], "stage": "policy", "category": "out_of_scope"}
guardrail | {"place": "tool", "guardrail": "g", "action": "block"} | {"description": "d", "operation_id": K, "tool": "Exec"}
hook_executed | {"hook_event": "PreToolUse", "hook": "./check", "source": "hooks.json", "result": "blocked", "duration_ms": 3} | {"reason": "no",
    "tool": "Exec", "call_id": "c", "operation_id": K}
connection_refused | {"operation_id": K, "tool": "Exec", "effect": "deny", "host": "a.example", "port": 443, "reason": "not listed", "count": 2} | {}
tool_executed | {"operation_id": K, "tool": "Exec", "status": "ok", "duration_ms": 3} | {"sandbox": "enforced", "exit_status": 3, "code": "exit", "attempt": 1,
    "again_in_ms": 5, "stage": "sandbox", "category": "unsafe_target"}
action_cancelled | {"operation_id": K, "tool": "Exec", "status": "failed"} | {"duration_ms": 0, "code": "cancelled"}
runtime_error | {"failure_artifact": {"category": "transport", "kind": "timeout", "summary": "no answer"}} | {}
run_parked | {"code": "budget_exceeded", "exceeded": {"scope": "all", "resource": "money",
    "period": "daily", "max": 5, "used": 4, "reserved": 0, "needed": 2, "until_ms": 172800000}} | {}
sub_run_started | {"operation_id": K, "tool": "StartRun", "child_agent_id": "b", "child_run_key": K, "depth": 1} | {}
run_ended | {"outcome": "completed", "rounds": 2, "token_usage": {"input_tokens": 1, "output_tokens": 2}} | {"cost_microusd": 7, "run_key": K}
decision_asked | {"decision_id": K, "operation_id": K, "kind": "tool_approval", "title": "May it?", "tool": "Exec", "input": "",
    "options": ["approve"], "severity": "low", "blast_radius": "small", "rule": "r"} | {"retries": K}
decision_answered | {"decision_id": K, "operation_id": K, "tool": "Exec", "status": "withdrawn", "version": 2} | {"title": "May it?",
    "severity": "low", "option": "approve", "channel": "page", "note": "yes"}
decision_escalated | {"decision_id": K, "operation_id": K, "tool": "Exec", "title": "May it?", "status": "pending", "severity": "high",
    "version": 2} | {}
policy_changed | {"files": [{"file": "main.cedar", "sha256": K}]} | {"old_version": "a", "new_version": "b", "is_incomplete": true}
brake_changed | {"is_on": true, "scope": "all", "channel": "cli"} | {"reason": "smoke"}
run_quarantined | {"run_key": K, "code": "run_state_invalid", "why": "unreadable"} | {}
quarantine_resolved | {"run_key": K, "status": "abandoned"} | {}
attention_dismissed | {"run_keys": []} | {}
run_undone | {"run_key": K, "direction": "undo", "restored": 2, "removed": 1, "skipped": 0} | {}
content_erased | {"by": "operator", "channel": "cli", "run_key": K} | {"reason": "a name", "events": 3, "transitions": 1, "blobs": 2, "audit_entries": 1}
data_pruned | {"class": "events", "rows": 3} | {"bytes": 9, "until": "2026-01-01T00:00:00.000Z"}
rows_bound | {"records": [{"table": "cap", "key": "k", "row_hash": K}]} | {}
"#;

/// The required and the optional fields of a kind.
pub(crate) fn fields(kind: EventKind) -> (Value, Value) {
    let table = FIELDS.replace("\n    ", " ");
    let mut rows = table.lines().map(|row| row.split(" | ").collect::<Vec<_>>());
    let row = rows.find(|row| row[0] == kind.as_str()).expect("a row");
    let json = |text: &str| {
        let text = text.replace(": K", &format!(": \"{KEY}\""));
        serde_json::from_str(&text).expect("JSON")
    };
    (json(row[1]), json(row[2]))
}

/// Merges two payloads; fields of the second replace those of the first.
pub(in crate::report) fn over(below: Value, above: &Value) -> Value {
    let (Value::Object(mut members), Value::Object(above)) = (below, above) else {
        panic!("two objects");
    };
    members.extend(above.clone());
    Value::Object(members)
}

fn without(payload: &Value, name: &str) -> Value {
    let members = payload.as_object().expect("an object").iter();
    let rest = members.filter(|(member, _)| *member != name);
    Value::Object(
        rest.map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

fn names(payload: &Value) -> Vec<&String> {
    payload.as_object().expect("an object").keys().collect()
}

#[test]
fn every_kind_is_stored_under_its_field_names() {
    for kind in EventKind::ALL {
        let (needed, optional) = fields(kind);
        let whole = over(needed, &optional);
        let read = Payload::read(kind.as_str(), &whole).unwrap_or_else(|| panic!("{kind}"));
        assert_eq!(read.kind(), kind);
        assert_eq!(serde_json::to_value(&read).expect("JSON"), whole, "{kind}");
    }
}

#[test]
fn unknown_fields_are_ignored_and_optional_ones_may_be_missing() {
    for kind in EventKind::ALL {
        let (needed, optional) = fields(kind);
        let whole = over(needed.clone(), &optional);
        let newer = over(whole.clone(), &json!({"of_a_newer_version": {"deep": [1]}}));
        assert_eq!(
            Payload::read(kind.as_str(), &newer),
            Payload::read(kind.as_str(), &whole),
            "{kind}"
        );
        for name in names(&optional) {
            let read = Payload::read(kind.as_str(), &without(&whole, name));
            assert!(
                read.is_some_and(|read| read.kind() == kind),
                "{kind} without {name}"
            );
        }
        assert!(Payload::read(kind.as_str(), &needed).is_some(), "{kind}");
    }
}

#[test]
fn a_payload_of_another_kind_is_rejected() {
    for kind in EventKind::ALL {
        let (needed, _) = fields(kind);
        for name in names(&needed) {
            assert_eq!(
                Payload::read(kind.as_str(), &without(&needed, name)),
                None,
                "{kind} without {name}"
            );
        }
        for other in [json!(null), json!([]), json!({}), json!("text")] {
            assert_eq!(Payload::read(kind.as_str(), &other), None, "{kind}");
        }
        assert_eq!(EventBody::read(kind.as_str(), b"{"), None);
        assert_eq!(Payload::read("session_state_changed", &needed), None);
    }
}

#[test]
fn the_hash_covers_the_stored_canonical_bytes() {
    for kind in EventKind::ALL {
        let (needed, optional) = fields(kind);
        let whole = over(needed, &optional);
        let mut draft = EventDraft::new(Payload::read(kind.as_str(), &whole).expect("a payload"));
        draft.body.row_hash = Digest::from_hex(KEY);
        draft.body.log_binding = Some(Digest::ZERO);
        draft.policy_version = Some(PolicyVersion::new("p"));
        let body = draft.body.clone();
        let sealed = SealedEvent::new(draft, Millis(0), None, [7; 32]).expect("canonical");
        assert_eq!(sealed.kind, kind);
        assert_eq!(
            sealed.payload_hash,
            payload_hash(&[7; 32], &sealed.payload),
            "{kind}"
        );
        let stored = over(whole, &json!({"log_binding": Digest::ZERO, "row_hash": KEY}));
        assert_eq!(sealed.payload, canonical(&stored).expect("canonical"), "{kind}");
        assert_eq!(
            EventBody::read(kind.as_str(), &sealed.payload),
            Some(body),
            "{kind}"
        );
    }
}

#[test]
fn each_change_of_an_agent_has_its_own_name() {
    let schedule = json!({"schedule_id": "s", "revision": 1, "status": "active"});
    let changes = [
        json!({"change": "control", "control": "paused"}),
        json!({"change": "lifecycle", "lifecycle": "dormant"}),
        json!({"change": "mode", "mode": "interactive"}),
        json!({"change": "sleep", "until": "2026-01-01T00:00:00.000Z"}),
        json!({"change": "wake", "override": "operator"}),
        json!({"change": "trigger", "trigger": "rotated"}),
        json!({"change": "restored", "incarnation": "h.2", "backup_made_at": "2026-01-01T00:00:00.000Z"}),
        json!({"change": "subscription", "subscription": "gym", "state": "gone"}),
        over(json!({"change": "schedule_added"}), &schedule),
        over(json!({"change": "schedule_edited"}), &schedule),
        over(json!({"change": "schedule_paused"}), &schedule),
        over(json!({"change": "schedule_resumed"}), &schedule),
        over(json!({"change": "schedule_disabled"}), &schedule),
        over(json!({"change": "schedule_expired"}), &schedule),
        json!({"change": "schedule_unreadable", "schedule_id": "?", "column": "schedule.pattern"}),
        json!({"change": "budget_day", "from": 5, "to": 4, "channel": "cli"}),
        json!({"change": "settings", "changed": {"model": null, "ask_tools": ["A"]}}),
    ];
    for change in changes {
        let read = Payload::read("agent_state_changed", &change).expect("a change");
        assert_eq!(serde_json::to_value(read).expect("JSON"), change);
    }
}
