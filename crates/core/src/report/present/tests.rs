use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::report::payload::tests::{KEY, fields, over};

/// Renders a payload with these fields plus the fields that every payload of its kind has.
fn shown_as(kind: &str, said: &Value) -> Presentation {
    present(kind, read(kind, said).as_ref())
}

fn read(kind: &str, said: &Value) -> Option<Payload> {
    let known = EventKind::parse(kind)?;
    let whole = if said.is_object() {
        over(fields(known).0, said)
    } else {
        said.clone()
    };
    Payload::read(kind, &whole)
}

#[test]
fn every_kind_is_read_back_as_it_was_written() {
    for kind in EventKind::ALL {
        assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(EventKind::parse("session_state_changed"), None);
}

/// Payloads as the run machine and the API write them, each with its expected level and line.
const SHOWN: &str = concat!(
    r#"
message_admitted | {"text": "water the\nplants"} | TurnResult | water the plants
agent_state_changed | {"change": "created", "control": "running"} | Trace | Agent created
agent_state_changed | {"change": "control", "control": "paused"} | Trace | Agent paused
agent_state_changed | {"change": "control", "control": "running"} | Trace | Agent resumed
wake_decided | {"verdict": "run", "reason": "operator_prompt"} | Trace | Message became a run
wake_decided | {"verdict": "cancelled"} | TurnResult | Message cancelled before its run
wake_decided | {"verdict": "absorbed"} | Progress | Message joined the run in progress
wake_decided | {"verdict": "paused"} | TurnResult | Message did not become a run: paused
run_started | {"model_ref": "scripted:a", "max_rounds": 50} | Progress | Run started with scripted:a
provider_round_completed | {"outcome": "succeeded", "duration_ms": 7} | Trace | Model answered in 7 ms
provider_round_completed | {"outcome": "retrying", "failure_kind": "timeout"} | Progress | Model request failed (timeout), trying again
provider_round_completed | {"outcome": "fail_fast_aborted", "failure_kind": "auth"} | Trace | Model request failed (auth)
assistant_round_recorded | {"text": "Hm.", "tools": ["Exec"]} | Progress | Assistant progress: Hm.
assistant_round_recorded | {"text": "Done.", "tools": []} | TurnResult | Assistant progress: Done.
assistant_round_recorded | {"text": "", "tools": ["A", "B"]} | Progress | Model requested tools: A, B
assistant_round_recorded | {"text": " ", "tools": []} | Progress | Model round recorded
policy_decided | {"tool": "Exec", "effect": "permit", "rule": "registered_tool", "input": "[1]"} | Trace | Exec permitted: [1]
policy_decided | {"tool": "Exec", "effect": "ask", "rule": "ask_tool", "input": "[1]"} | Trace | Waiting for your approval: Exec [1]
policy_decided | {"tool": "Exec", "effect": "deny", "status": "denied", "code": "denied_tool"} | Trace | Exec denied: denied_tool
policy_decided | {"tool": "Exec", "effect": "permit", "status": "failed", "code": "invalid_arguments"} | Trace | Exec refused: invalid_arguments
policy_decided | {"tool": "Exec", "status": "denied", "code": "outcome_unknown_undecided"} | ActionRequired | Exec denied: outcome_unknown_undecided
guardrail | {"place": "tool", "guardrail": "g", "action": "block", "description": "d"} | TurnResult | Guardrail for tool: block: g (d)
guardrail | {"place": "input", "guardrail": "g", "action": "warn"} | Progress | Guardrail for input: warn: g
guardrail | {"place": "output", "guardrail": "g", "action": "log"} | Trace | Guardrail for output: log: g
hook_executed | {"hook_event": "PreToolUse", "hook": "./check", "result": "passed"} | Trace | Hook PreToolUse: passed: ./check
hook_executed | {"hook_event": "PreToolUse", "hook": "./check", "result": "blocked", "reason": "no"} | TurnResult | Hook PreToolUse: blocked: ./check (no)
connection_refused | {"host": "a.example", "reason": "a.example:443 is not on the list"} | Progress | Connection refused: a.example:443 is not on the list
tool_executed | {"tool": "Exec", "status": "ok", "duration_ms": 3} | Trace | Exec done in 3 ms
tool_executed | {"tool": "Exec", "status": "ok", "exit_status": 3, "duration_ms": 3} | Trace | Exec ended with exit 3 in 3 ms
tool_executed | {"tool": "Exec", "status": "ok", "exit_status": 0, "duration_ms": 3} | Trace | Exec done in 3 ms
tool_executed | {"tool": "Exec", "status": "failed", "code": "exit", "duration_ms": 3} | Trace | Exec failed: exit in 3 ms
tool_executed | {"tool": "Exec", "status": "outcome_unknown"} | ActionRequired | Exec: outcome unknown, it may or may not have happened
action_cancelled | {"tool": "Exec", "status": "failed", "code": "cancelled"} | Trace | Exec cancelled: cancelled
action_cancelled | {"tool": "Exec", "code": "outcome_unknown_undecided"} | ActionRequired | Exec cancelled: outcome_unknown_undecided
runtime_error | {"failure_artifact": {"category": "transport", "kind": "timeout", "summary": "no answer"}} | ActionRequired | Runtime error: no answer
provider_round_completed | {"outcome": "retries_exhausted", "#,
    r#""failure_kind": "auth", "advanced_to_fallback": true} | Progress | Model failed (auth), trying the next one
run_parked | {"code": "budget_exceeded"} | ActionRequired | Run parked: the budget does not cover its next step
run_ended | {"outcome": "completed", "rounds": 2} | WorkDone | Run completed after 2 rounds
run_ended | {"outcome": "failed", "rounds": 1} | ActionRequired | Run failed after 1 round
run_ended | {"outcome": "out_of_rounds", "rounds": 3} | ActionRequired | Run out of rounds after 3 rounds
run_ended | {"outcome": "cancelled", "rounds": 0} | TurnResult | Run cancelled after 0 rounds
run_ended | null | TurnResult | Run ended
decision_asked | {"title": "May Exec be used?", "input": "ls"} | ActionRequired | May Exec be used? ls
decision_answered | {"tool": "Exec", "status": "answered", "option": "approve", "channel": "page"} | TurnResult | approve: Exec (by page)
decision_answered | {"tool": "Exec", "status": "cancelled"} | TurnResult | Decision timed out; Exec is not used
decision_answered | {"tool": "Exec", "status": "withdrawn"} | Trace | A decision was withdrawn
decision_escalated | {"title": "May Exec be used?", "severity": "critical"} | ActionRequired | Overdue, now critical: May Exec be used?
policy_changed | {"files": []} | TurnResult | Policy files changed: no policy files are in force
policy_changed | {"files": [], "is_incomplete": true} | TurnResult | Policy files changed: a file is invalid and has no earlier version: nothing is permitted
brake_changed | {"is_on": true, "scope": "all", "reason": "smoke"} | TurnResult | Brake set for all agents: smoke
brake_changed | {"is_on": false, "scope": "main"} | TurnResult | Brake released for the agent
run_quarantined | {"why": "its state cannot be read"} | ActionRequired | Run quarantined: its state cannot be read
quarantine_resolved | {"status": "abandoned"} | TurnResult | Quarantined run abandoned
quarantine_resolved | {"status": "open"} | TurnResult | Quarantined run resumed
attention_dismissed | {"run_keys": []} | Trace | Failures dismissed
run_undone | {"direction": "undo", "restored": 2} | Progress | Files restored
content_erased | {"events": 3, "blobs": 2, "reason": "a name"} | Progress | 3 events and 2 contents erased: a name
rows_bound | {"records": []} | Trace | Settings changed
data_pruned | {"class": "events", "rows": 3, "bytes": 9} | Trace | Old data pruned
sub_run_started | {"child_agent_id": "helper", "depth": 1} | Progress | Started a run of helper and waits for it
sub_run_started | null | Progress | Run of another agent started
agent_state_changed | {"change": "restored", "incarnation": "h.2", "backup_made_at": "2026-01-01T00:00:00.000Z"} | Trace | Agent restored from a backup
agent_state_changed | {"change": "subscription", "subscription": "gym", "state": "made"} | Trace | Subscription created: gym
agent_state_changed | {"change": "subscription", "subscription": "gym", "state": "paused"} | Trace | Subscription paused: gym
agent_state_changed | {"change": "subscription", "subscription": "gym", "state": "resumed"} | Trace | Subscription resumed: gym
agent_state_changed | {"change": "subscription", "subscription": "gym", "state": "edited"} | Trace | Subscription changed: gym
agent_state_changed | {"change": "subscription", "subscription": "gym", "state": "gone"} | Trace | Subscription removed: gym
"#
);

fn shown() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    let rows = SHOWN.lines().filter(|line| !line.is_empty());
    rows.map(|line| {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [kind, payload, level, summary] = fields[..] else {
            panic!("{line}")
        };
        (kind, serde_json::from_str(payload).expect("json"), level, summary)
    })
    .collect()
}

// Conformance: H-057, H-059, H-066
#[test]
fn each_event_has_the_expected_level_and_line() {
    for (kind, payload, level, summary) in shown() {
        let presented = shown_as(kind, &payload);
        assert_eq!(
            (
                format!("{:?}", presented.visibility).as_str(),
                presented.summary.as_str(),
                presented.source_event_kind.as_str()
            ),
            (level, summary, kind),
            "{payload}"
        );
    }
}

#[test]
fn every_kind_has_exactly_one_category_for_any_payload() {
    let mut seen: BTreeMap<&str, Vec<EventCategory>> = BTreeMap::new();
    for (kind, payload, _, _) in shown() {
        let categories = seen.entry(kind).or_default();
        categories.push(shown_as(kind, &payload).category);
        categories.dedup();
    }
    let expected = [
        ("action_cancelled", EventCategory::Tool),
        ("agent_state_changed", EventCategory::StateSync),
        ("assistant_round_recorded", EventCategory::AssistantProgress),
        ("brake_changed", EventCategory::StateSync),
        ("decision_answered", EventCategory::Waiting),
        ("decision_asked", EventCategory::Waiting),
        ("decision_escalated", EventCategory::Waiting),
        ("connection_refused", EventCategory::Tool),
        ("guardrail", EventCategory::Tool),
        ("hook_executed", EventCategory::Tool),
        ("content_erased", EventCategory::StateSync),
        ("data_pruned", EventCategory::Trace),
        ("message_admitted", EventCategory::Message),
        ("policy_changed", EventCategory::StateSync),
        ("policy_decided", EventCategory::Tool),
        ("provider_round_completed", EventCategory::Trace),
        ("rows_bound", EventCategory::Trace),
        ("run_ended", EventCategory::Runtime),
        ("run_parked", EventCategory::OperatorNotification),
        ("run_quarantined", EventCategory::OperatorNotification),
        ("quarantine_resolved", EventCategory::Runtime),
        ("attention_dismissed", EventCategory::StateSync),
        ("run_undone", EventCategory::Runtime),
        ("run_started", EventCategory::Runtime),
        ("runtime_error", EventCategory::OperatorNotification),
        ("sub_run_started", EventCategory::Runtime),
        ("tool_executed", EventCategory::Tool),
        ("wake_decided", EventCategory::Runtime),
    ];
    let expected: BTreeMap<&str, Vec<EventCategory>> = expected.map(|(kind, one)| (kind, vec![one])).into();
    assert_eq!(seen, expected);
    assert_eq!(seen.len(), EventKind::ALL.len());
}

#[test]
fn a_kind_of_a_newer_version_is_shown_as_trace() {
    let presented = shown_as("session_state_changed", &json!({"text": "?"}));
    let (name, body) = ("session_state_changed".to_owned(), None);
    let expected = Presentation {
        visibility: EventLevel::Trace,
        category: EventCategory::Trace,
        title: name.clone(),
        body,
        summary: name.clone(),
        source_event_kind: name,
    };
    assert_eq!(presented, expected);
}

// Conformance: H-065
#[test]
fn a_state_change_is_not_a_conversation_line() {
    for kind in ["agent_state_changed", "session_state_changed"] {
        assert!(
            !shown_as(kind, &json!({"change": "control"}))
                .category
                .is_conversation(),
            "{kind}"
        );
    }
    assert!(
        shown_as("message_admitted", &Value::Null)
            .category
            .is_conversation()
    );
}

// Conformance: H-059
#[test]
fn levels_are_ordered_by_importance() {
    let order = [
        EventLevel::ActionRequired,
        EventLevel::WorkDone,
        EventLevel::TurnResult,
        EventLevel::Progress,
        EventLevel::Trace,
    ];
    assert!(order.is_sorted());
}

// Conformance: H-060
#[test]
fn a_display_mode_has_a_name_and_a_number_and_excludes_trace() {
    let modes = ["info", "3", "verbose", "4", "debug", "5"].map(DisplayMode::parse);
    let [info, verbose, debug] = [DisplayMode::Info, DisplayMode::Verbose, DisplayMode::Debug].map(Some);
    assert_eq!(modes, [info, info, verbose, verbose, debug, debug]);
    for other in ["trace", "2", "1", "6", "", "Info", " 3", "03", "quiet"] {
        assert_eq!(DisplayMode::parse(other), None, "{other:?}");
    }
}

// Conformance: H-067
#[test]
fn tool_rows_appear_from_verbose_and_other_rows_by_level() {
    let row = |kind, payload| shown_as(kind, &payload);
    let tool = row("tool_executed", json!({"tool": "Exec", "status": "ok"}));
    let started = row("run_started", Value::Null);
    let telemetry = row("provider_round_completed", json!({"outcome": "succeeded"}));
    let unknown = row(
        "tool_executed",
        json!({"tool": "Exec", "status": "outcome_unknown"}),
    );
    let modes = [DisplayMode::Info, DisplayMode::Verbose, DisplayMode::Debug];
    let shown = |row: &Presentation| modes.map(|mode| mode.shows(row));
    assert_eq!(tool.visibility, EventLevel::Trace);
    assert_eq!(shown(&tool), [false, true, true]);
    assert_eq!(shown(&started), [false, true, true]);
    assert_eq!(shown(&telemetry), [false, false, true]);
    assert_eq!(shown(&unknown), [true, true, true]);
}

#[test]
fn a_round_with_many_tool_calls_names_the_first_few() {
    let tools: Vec<String> = (0..9).map(|n| format!("T{n}")).collect();
    let presented = shown_as("assistant_round_recorded", &json!({"tools": tools}));
    assert_eq!(
        presented.summary,
        "Model requested tools: T0, T1, T2, T3, T4, T5, T6, T7, …"
    );
}

#[test]
fn provenance_is_taken_from_the_payload() {
    let admitted = json!({"correlation_id": "chain", "causation_id": "cause"});
    let some = |text: &str| Some(text.to_owned());
    let expected = Provenance {
        message_id: some(KEY),
        authority: some("operator_instruction"),
        surface: some("run_once"),
        context: some("local_process"),
        correlation_id: some("chain"),
        causation_id: some("cause"),
    };
    let found = |kind: &str, said| provenance(&read(kind, &said).expect("a payload"));
    assert_eq!(found("message_admitted", admitted), expected);
    let expected = Provenance {
        correlation_id: some(KEY),
        causation_id: None,
        ..expected
    };
    assert_eq!(found("message_admitted", json!({})), expected);
    let expected = Provenance {
        message_id: some(KEY),
        correlation_id: some(KEY),
        ..Provenance::default()
    };
    assert_eq!(found("wake_decided", json!({})), expected);
    let expected = Provenance {
        causation_id: some(KEY),
        ..Provenance::default()
    };
    assert_eq!(found("tool_executed", json!({})), expected);
}

/// Arbitrary JSON whose object keys include the field names that the renderer reads.
fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".{0,40}",
        Just("x\u{1b}[31m\r\n".repeat(400)),
        Just("outcome_unknown".to_owned()),
        Just("denied".to_owned()),
        Just("completed".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("text"),
        Just("tool"),
        Just("tools"),
        Just("status"),
        Just("code"),
        Just("outcome"),
        Just("verdict"),
        Just("rule"),
        Just("effect"),
        Just("input"),
        Just("rounds"),
        Just("duration_ms"),
        Just("run_key"),
        Just("failure_artifact"),
        Just("summary"),
        Just("model_ref"),
        Just("operation_id"),
        Just("change"),
    ];
    leaf.prop_recursive(3, 24, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            proptest::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // Conformance: H-057
    /// Payloads come from older and newer versions and from models, so rendering must succeed for any
    /// content.
    #[test]
    fn any_payload_of_any_kind_gets_a_line_within_bounds(
        kind in prop_oneof![proptest::sample::select(EventKind::ALL.map(EventKind::as_str).to_vec()).prop_map(str::to_owned), ".{0,300}"],
        payload in any_json(),
    ) {
        let presented = shown_as(&kind, &payload);
        let chars = |text: &str| text.chars().count();
        prop_assert!(chars(&presented.title) <= TITLE_CHARS_MAX);
        prop_assert!(chars(&presented.summary) <= SUMMARY_CHARS_MAX);
        prop_assert!(chars(&presented.source_event_kind) <= TITLE_CHARS_MAX);
        prop_assert!(presented.body.as_deref().map_or(0, chars) <= BODY_CHARS_MAX);
        let lines = [&presented.title, &presented.summary, &presented.source_event_kind];
        prop_assert!(lines.iter().all(|line| !line.chars().any(char::is_control)));
        let found = read(&kind, &payload).as_ref().map(provenance).unwrap_or_default();
        let facts = [
            found.message_id, found.authority, found.surface, found.context, found.correlation_id, found.causation_id,
        ];
        prop_assert!(facts.iter().flatten().all(|fact| chars(fact) <= FACT_CHARS_MAX));
    }
}
