//! Tests of invalid lines.

use serde_json::{Value, json};

use super::super::{LINE_BYTES_MAX, answer};
use super::{ask, refusal_of};

/// Rejected lines, each with its code and the text that its message contains.
const LINES: &str = include_str!("hostile.tsv");

// Conformance: L-042, L-209
#[test]
fn every_hostile_line_is_rejected_with_code_and_location() {
    let mut seen = 0;
    for row in LINES.lines().filter(|row| !row.starts_with('#')) {
        let mut cells = row.splitn(3, '\t');
        let mut cell = || cells.next().expect("three cells");
        let (code, named, line) = (cell(), cell(), cell());
        let answer = ask(line);
        let said = answer["error"]["code"].as_str().unwrap_or("ok");
        assert_eq!(said, code, "{line}: {answer}");
        if named != "-" {
            let message = answer["error"]["message"].as_str().expect("a sentence");
            assert!(message.starts_with(&format!("`{named}`")), "{line}: {message}");
        }
        if code == "bad_json" {
            assert_eq!(answer["id"], Value::Null, "{line}");
        }
        seen += 1;
    }
    assert!(seen > 250, "{seen} lines");
    assert!(answer(b"\"\xff\"").contains("bad_json"));
}

#[test]
fn a_line_that_is_too_long_is_rejected_unread() {
    let line = |length: usize| {
        let frame = r#"{"id":1,"op":"hash","label":"x","fields":[""]}"#;
        frame.replace(r#"[""]"#, &format!(r#"["{}"]"#, "x".repeat(length - frame.len())))
    };
    assert_eq!(ask(&line(LINE_BYTES_MAX))["ok"], json!(true));
    let answer = ask(&line(LINE_BYTES_MAX + 1));
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!("too_large"))
    );
}

#[test]
fn an_answer_repeats_any_request_id() {
    for id in [
        json!(null),
        json!(0),
        json!(-1.5),
        json!("x\n\u{1f600}"),
        json!([1, {"a": null}]),
        json!({"b": 1, "a": 2}),
    ] {
        let fine = json!({"id": id, "op": "hash", "label": "x", "fields": []});
        assert_eq!(ask(&fine.to_string())["id"], id);
        let wrong = json!({"id": id, "op": "hash"});
        let answer = ask(&wrong.to_string());
        assert_eq!((&answer["id"], &answer["ok"]), (&id, &json!(false)));
    }
    assert_eq!(
        refusal_of(r#"{"op":"hash","label":"x","fields":[]}"#).1,
        "`id` is missing"
    );
}

/// Invalid tokens, one per kind of error.
const BAD_TOKENS: [&str; 4] = [
    "null",
    r#"{"class":"entityID","value":"x"}"#,
    r#"{"class":"entityId","value":""}"#,
    r#"{"class":"subtypeToken","value":"x"}"#,
];

#[test]
fn every_other_error_precedes_a_token_error() {
    for token in BAD_TOKENS {
        let bad = format!(r#"{{"id":"s","agent_id":"a","tokens_any":[{token}]}}"#);
        for (subscriptions, entities) in [
            (format!("[{bad}]"), "7"),
            (format!("[{bad},{bad}]"), "{}"),
            (format!(r#"[{bad},{{"id":"t","agent_id":"a"}}]"#), "{}"),
            (
                format!(
                    "[{}]",
                    bad.replace("]}", r#"],"entity":{"field":"a","op":"is"}}"#)
                ),
                "{}",
            ),
        ] {
            let line = format!(
                r#"{{"id":1,"op":"match","subscriptions":{subscriptions},"notice":{{"tokens":[{token}]}},"entities":{entities}}}"#
            );
            assert_eq!(refusal_of(&line).0, "bad_request", "{line}");
        }
    }
}

#[test]
fn a_message_repeats_only_the_start_of_a_long_text() {
    let long = "x".repeat(100_000);
    let matching = |subscriptions: &str, entities: &str| {
        let notice = r#""notice":{"tokens":[]}"#;
        format!(r#"{{"id":1,"op":"match","subscriptions":{subscriptions},{notice},"entities":{entities}}}"#)
    };
    let asking = format!(r#"[{{"id":"s","agent_id":"a","tokens_any":[1],"entity":{{"{long}":1}}}}]"#);
    let every = format!(r#"{{"interval_seconds":1,"anchor":"2026-01-01T00:00:00Z","{long}":1}}"#);
    let next = |schedule: &str| {
        format!(
            r#"{{"id":1,"op":"schedule_next","after":"2026-01-01T00:00:00Z","count":1,"schedule":{schedule}}}"#
        )
    };
    let converge = |messages: &str, field: &str| {
        let steps = format!(r#"[{{"do":"write","at":0,"field":"{field}","value":1}}]"#);
        format!(r#"{{"id":1,"op":"converge","replicas":1,"messages":{messages},"steps":{steps}}}"#)
    };
    for line in [
        format!(r#"{{"id":1,"op":"{long}"}}"#),
        format!(r#"{{"id":1,"op":"hash","{long}":1}}"#),
        matching("[]", &format!(r#"{{"{long}":1}}"#)),
        matching(&asking, "{}"),
        next(&every),
        next(&format!(r#"{{"cron":"* * * * *","time_zone":"{long}"}}"#)),
        next(&format!(r#"{{"cron":"{long} * * * *","time_zone":"UTC"}}"#)),
        converge("null", &long),
        converge(&format!(r#"{{"{long}":"{long}"}}"#), "failure_count"),
    ] {
        assert!(refusal_of(&line).1.len() < 600);
    }
}
