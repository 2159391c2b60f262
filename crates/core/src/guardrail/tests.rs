use proptest::prelude::*;
use serde_json::json;

use super::*;

fn spec(name: &str, phrases: &[&str], tools: &[&str]) -> GuardrailSpec {
    GuardrailSpec {
        name: name.to_owned(),
        description: String::new(),
        action: GuardrailAction::Block,
        phrases: phrases.iter().map(|text| (*text).to_owned()).collect(),
        tools: tools.iter().map(|text| (*text).to_owned()).collect(),
    }
}

fn for_tools(specs: &[GuardrailSpec]) -> GuardrailPolicy {
    GuardrailPolicy {
        tool_guardrails: specs.to_vec(),
        ..GuardrailPolicy::default()
    }
}

fn entry(role: Role, text: &str) -> TranscriptEntry {
    let text = text.to_owned();
    TranscriptEntry {
        role,
        blocks: vec![Block::Text { text }],
    }
}

fn names(trips: &[GuardrailTrip]) -> Vec<&str> {
    trips.iter().map(|trip| trip.name.as_str()).collect()
}

// Conformance: P-20
#[test]
fn a_guardrail_policy_keeps_its_fields() {
    let json = json!({
        "input_guardrails": [{"name": "a", "action": "warn", "phrases": ["x"]}],
        "output_guardrails": [{"name": "b", "description": "d", "action": "log", "phrases": ["x"]}],
        "tool_guardrails": [{"name": "c", "action": "block", "tools": ["ExecCommand"]}],
    });
    let policy: GuardrailPolicy = serde_json::from_value(json.clone()).expect("a policy");
    assert!(policy.check().is_ok());
    assert_eq!(serde_json::to_value(policy).expect("JSON"), json);
    for wrong in [
        json!({"other": []}),
        json!({"input_guardrails": [{"name": "a", "action": "stop", "phrases": ["x"]}]}),
        json!({"input_guardrails": [{"action": "log", "phrases": ["x"]}]}),
    ] {
        assert!(serde_json::from_value::<GuardrailPolicy>(wrong).is_err());
    }
}

#[test]
fn a_phrase_is_found_in_every_spelling_of_case_and_space() {
    let policy = for_tools(&[spec("g", &["Drop  Table"], &[])]);
    for text in [
        "drop table",
        "DROP\n\tTABLE x",
        "a drop\u{200b} ta\u{ad}ble",
        "Drop\u{a0}Table",
        "dr\u{2066}op\u{fe0f} \u{34f}ta\u{e0041}ble",
    ] {
        assert_eq!(
            names(&policy.tool_trips("T", &json!({"q": [{"x": text}]}))),
            ["g"],
            "{text:?}"
        );
    }
    for text in ["droptable", "drop", ""] {
        assert!(policy.tool_trips("T", &json!({"q": text})).is_empty(), "{text:?}");
    }
    assert_eq!(names(&policy.tool_trips("T", &json!({"drop table": 1}))), ["g"]);
}

#[test]
fn a_tool_guardrail_reads_only_calls_of_its_tools() {
    let policy = for_tools(&[
        spec("any", &["x"], &[]),
        spec("all", &[], &["A"]),
        spec("both", &["x"], &["A"]),
    ]);
    assert_eq!(
        names(&policy.tool_trips("A", &json!({"v": "x"}))),
        ["any", "all", "both"]
    );
    assert_eq!(names(&policy.tool_trips("A", &json!({}))), ["all"]);
    assert_eq!(names(&policy.tool_trips("B", &json!({"v": "x"}))), ["any"]);
}

#[test]
fn unread_arguments_may_trip_every_guardrail_of_their_tool() {
    let policy = for_tools(&[spec("any", &["x"], &[]), spec("other", &["x"], &["B"])]);
    assert_eq!(names(&policy.unread_tool_trips("A")), ["any"]);
}

#[test]
fn arguments_that_are_nested_too_deeply_trip_guardrails_with_phrases() {
    let policy = for_tools(&[spec("g", &["x"], &[])]);
    let deep = (0..100).fold(json!("y"), |inner, _| json!([inner]));
    assert_eq!(names(&policy.tool_trips("T", &deep)), ["g"]);
}

#[test]
fn only_the_messages_after_the_last_reply_are_read() {
    let policy = GuardrailPolicy {
        input_guardrails: vec![spec("g", &["secret"], &[])],
        ..GuardrailPolicy::default()
    };
    let mut entries = vec![entry(Role::User, "secret"), entry(Role::Assistant, "secret")];
    assert!(policy.input_trips(&entries).is_empty());
    entries.push(entry(Role::Tool, "secret"));
    assert!(policy.input_trips(&entries).is_empty());
    entries.push(entry(Role::User, "the secret"));
    assert_eq!(names(&policy.input_trips(&entries)), ["g"]);
}

#[test]
fn a_guardrail_without_effect_or_beyond_a_bound_is_refused() {
    let long = "x".repeat(PHRASE_CHARS_MAX + 1);
    let many: Vec<String> = (0..=PHRASES_MAX).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (wrong, words) in [
        (spec("", &["x"], &[]), "name"),
        (spec("a\n", &["x"], &[]), "name"),
        (spec("g", &[], &[]), "neither a phrase nor a tool"),
        (spec("g", &["\u{200b} "], &[]), "phrase that is empty"),
        (spec("g", &[&long], &[]), "longer"),
        (spec("g", &many, &[]), "more than"),
    ] {
        let problem = for_tools(&[wrong]).check().expect_err(words);
        assert!(
            problem.message.starts_with("guardrails.tool_guardrails"),
            "{problem:?}"
        );
        assert!(problem.message.contains(words), "{problem:?}");
    }
    assert!(
        for_tools(&[spec("g", &["x"], &[]), spec("g", &["y"], &[])])
            .check()
            .is_err()
    );
    let input = |spec| GuardrailPolicy {
        input_guardrails: vec![spec],
        ..GuardrailPolicy::default()
    };
    assert!(input(spec("g", &[], &[])).check().is_err());
    assert!(input(spec("g", &["x"], &["T"])).check().is_err());
    assert!(input(spec("g", &["x"], &[])).check().is_ok());
    let crowd = (0..=GUARDRAILS_MAX).map(|n| spec(&n.to_string(), &["x"], &[]));
    assert!(for_tools(&crowd.collect::<Vec<_>>()).check().is_err());
}

proptest! {
    #[test]
    fn a_phrase_between_other_words_is_always_found(before in "\\PC{0,20}", after in "\\PC{0,20}") {
        let policy = for_tools(&[spec("g", &["needle"], &[])]);
        let trips = policy.tool_trips("T", &json!({"text": format!("{before} NeEdLe {after}")}));
        prop_assert_eq!(names(&trips), ["g"]);
    }
}
