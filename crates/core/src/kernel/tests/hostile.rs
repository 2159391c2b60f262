//! Lines that nobody should send.

use serde_json::{Value, json};

use super::super::{LINE_BYTES_MAX, answer};
use super::golden::LOGICAL;
use super::{ask, refusal_of, result_of};

#[test]
fn lines_that_are_no_json_are_refused_without_an_id() {
    let nested = |depth: usize| {
        format!(
            r#"{{"id":1,"op":"hash","x":{}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    for line in [
        "",
        " ",
        "\r",
        "{",
        "nonsense",
        "{}{}",
        "{\"id\":1,}",
        "\u{feff}{}",
        r#"{"id":1,"id":1,"op":"hash"}"#,
        r#"{"id":1,"op":"hash","label":"x","fields":["\ud800"]}"#,
        r#"{"id":9007199254740993}"#,
        r#"{"id":1e400}"#,
        &nested(127),
    ] {
        let answer = ask(line);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!("bad_json")),
            "{line}: {answer}"
        );
    }
    assert_eq!(
        refusal_of(&nested(126)).0,
        "bad_request",
        "127 levels with the request's own"
    );
    assert!(answer(b"\"\xff\"").contains("bad_json"));
    for line in ["null", "[]", "1", "\"x\"", "true", " [ {} ] "] {
        let answer = ask(line);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!("bad_request")),
            "{line}: {answer}"
        );
    }
}

#[test]
fn a_line_that_is_too_long_is_not_read() {
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
fn an_answer_has_the_id_of_its_request_whatever_it_is() {
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

/// The request that is fine, and what makes it wrong: a member replaced or, with `null` as a string, taken out.
#[test]
fn a_fault_of_form_names_its_field() {
    let key = LOGICAL;
    let table = [
        (
            r#"{"op":"hash","label":"x","fields":["a"]}"#,
            vec![
                ("label", r#""""#),
                ("label", r#""A""#),
                ("label", r#""a b""#),
                ("label", r#""a|b""#),
                ("label", "1"),
                ("label", "null"),
                ("label", "-"),
                ("fields", r#""a""#),
                ("fields", "[1]"),
                ("fields", "[null]"),
                ("fields", "null"),
                ("fields", "-"),
                ("extra", "1"),
                ("extra", "null"),
                ("op", "null"),
                ("op", "1"),
                ("op", "-"),
                ("op", "[\"hash\"]"),
            ],
        ),
        (
            r#"{"op":"change_key","host_id":"h","counter":1,"payload_type":"t","payload_id":"i"}"#,
            vec![
                ("counter", "-1"),
                ("counter", "1.0"),
                ("counter", "1e3"),
                ("counter", "9007199254740992"),
                ("counter", r#""1""#),
                ("counter", "true"),
                ("counter", "null"),
                ("counter", "-"),
                ("host_id", "1"),
                ("payload_type", "null"),
                ("payload_id", "-"),
                ("origin", r#""local""#),
            ],
        ),
        (
            r#"{"op":"logical_change_key","change_keys":["KEY"]}"#,
            vec![
                ("change_keys", "[]"),
                ("change_keys", r#"["abc"]"#),
                (
                    "change_keys",
                    r#"["A1AB2C95F6230B18DE3D4173542164CFA41B9E11EB7C527322C9167201DEC652"]"#,
                ),
                ("change_keys", "[1]"),
                ("change_keys", "{}"),
            ],
        ),
        (
            r#"{"op":"token_key","class":"subtypeToken","namespace":"n","value":"v"}"#,
            vec![("namespace", "1"), ("token", "{}")],
        ),
        (
            r#"{"op":"run_key","reason":"subscription","agent_id":"a","subscription_id":"s","logical_change_key":"KEY"}"#,
            vec![
                ("reason", r#""hint""#),
                ("reason", r#""Timer""#),
                ("reason", "-"),
                ("reason", "null"),
                ("agent_id", "-"),
                ("subscription_id", "1"),
                ("logical_change_key", r#""x""#),
                ("logical_change_key", "-"),
                ("source_id", r#""x""#),
                ("timer_id", "null"),
            ],
        ),
        (
            r#"{"op":"run_key","reason":"timer","agent_id":"a","timer_id":"t","scheduled_at":"2026-02-17T16:00:00Z"}"#,
            vec![
                ("scheduled_at", r#""2026-02-17""#),
                ("scheduled_at", r#""2026-02-17T16:00:60Z""#),
                ("scheduled_at", r#""2026-02-17t16:00:00Z""#),
                ("scheduled_at", "1771344000"),
                ("scheduled_at", "null"),
                ("scheduled_at", "-"),
                ("turn_id", r#""x""#),
            ],
        ),
        (
            r#"{"op":"run_key","reason":"user","agent_id":"a","session_id":"s","turn_id":"t"}"#,
            vec![("session_id", "-"), ("turn_id", "null"), ("source_id", "1")],
        ),
        (
            r#"{"op":"run_key","reason":"catchup","agent_id":"a","source_id":"s"}"#,
            vec![("source_id", "-"), ("source_id", "7"), ("session_id", r#""s""#)],
        ),
        (
            r#"{"op":"operation_id","run_key":"KEY","tool":"t","arguments":null,"scope":[],"targets":[],"occurrence":0}"#,
            vec![
                ("run_key", r#""k""#),
                ("tool", "{}"),
                ("arguments", "-"),
                ("scope", "-"),
                ("targets", "null"),
                ("targets", r#"["a",1]"#),
                ("occurrence", "-1"),
                ("occurrence", "-"),
            ],
        ),
        (
            r#"{"op":"summary_id","agent_id":"a","thread_id":"t","start_message_id":"s","end_message_id":"e","contract_version":"1"}"#,
            vec![
                ("contract_version", "1"),
                ("thread_id", "-"),
                ("start_message_id", "null"),
                ("end_message_id", "0"),
                ("agent_id", "[]"),
            ],
        ),
    ];
    for (fine, wrongs) in table {
        let fine: Value = serde_json::from_str(&fine.replace("KEY", key)).expect("a request");
        result_of(fine.clone());
        for (field, wrong) in wrongs {
            let mut request = fine.clone();
            request["id"] = json!(1);
            match wrong {
                "-" => drop(request.as_object_mut().expect("an object").remove(field)),
                wrong => request[field] = serde_json::from_str(wrong).expect("a value"),
            }
            let (code, message) = refusal_of(&request.to_string());
            assert_eq!(code, "bad_request", "{request}: {message}");
            assert!(message.contains(&format!("`{field}")), "{request}: {message}");
        }
    }
    assert_eq!(refusal_of(r#"{"id":1,"op":"nope","x":1}"#).0, "unknown_op");
    assert_eq!(refusal_of(r#"{"id":1,"op":""}"#).0, "unknown_op");
    assert_eq!(refusal_of("{}").0, "bad_request");
}

#[test]
fn a_fault_in_a_match_names_its_place() {
    let token = r#"{"class":"entityId","value":"e"}"#;
    let good = format!(r#"{{"id":"s","agent_id":"a","tokens_any":[{token}]}}"#);
    let line = |subscriptions: &str, notice: &str, entities: &str| {
        format!(
            r#"{{"id":1,"op":"match","subscriptions":{subscriptions},"notice":{notice},"entities":{entities}}}"#
        )
    };
    let notice = format!(r#"{{"tokens":[{token}]}}"#);
    let sub = |extra: &str| format!(r#"[{good},{{"id":"t","agent_id":"a",{extra}}}]"#);
    for (subscriptions, notice, entities, named) in [
        ("null", &*notice, "{}", "subscriptions"),
        ("{}", &notice, "{}", "subscriptions"),
        ("[1]", &notice, "{}", "subscriptions[0]"),
        (&format!("[{good},{good}]"), &notice, "{}", "subscriptions[1].id"),
        (
            r#"[{"agent_id":"a","tokens_any":[]}]"#,
            &notice,
            "{}",
            "subscriptions[0].id",
        ),
        (
            &format!(r#"[{{"id":"s","tokens_any":[{token}]}}]"#),
            &notice,
            "{}",
            "subscriptions[0].agent_id",
        ),
        (
            &sub(r#""tokens_any":[]"#),
            &notice,
            "{}",
            "subscriptions[1].tokens_any",
        ),
        (
            &sub(r#""tokens_any":null,"tokens_all":null"#),
            &notice,
            "{}",
            "subscriptions[1].tokens_any",
        ),
        (
            &sub(r#""tokens_any":{}"#),
            &notice,
            "{}",
            "subscriptions[1].tokens_any",
        ),
        (
            &sub(&format!(r#""tokens_all":[{token}],"active":true"#)),
            &notice,
            "{}",
            "subscriptions[1].active",
        ),
        (
            &sub(&format!(r#""tokens_all":[{token}],"entity":[]"#)),
            &notice,
            "{}",
            "subscriptions[1].entity",
        ),
        (
            &sub(&format!(
                r#""tokens_all":[{token}],"entity":{{"any":[{{"field":"a","op":"in"}}]}}"#
            )),
            &notice,
            "{}",
            "subscriptions[1].entity.any[0].value",
        ),
        (
            &sub(r#""tokens_all":[{"class":"entityId","value":"e","x":1}]"#),
            &notice,
            "{}",
            "subscriptions[1].tokens_all[0].x",
        ),
        (
            &sub(r#""tokens_all":[{"class":"entityId","value":"e","namespace":1}]"#),
            &notice,
            "{}",
            "subscriptions[1].tokens_all[0].namespace",
        ),
        ("[]", "null", "{}", "notice"),
        ("[]", "{}", "{}", "notice.tokens"),
        ("[]", r#"{"tokens":null}"#, "{}", "notice.tokens"),
        ("[]", r#"{"tokens":[],"key":1}"#, "{}", "notice.key"),
        ("[]", &notice, "null", "entities"),
        ("[]", &notice, "[]", "entities"),
        ("[]", &notice, r#"{"e":null}"#, "entities.e"),
        ("[]", &notice, r#"{"e":{},"f":[]}"#, "entities.f"),
    ] {
        let (code, message) = refusal_of(&line(subscriptions, notice, entities));
        assert_eq!(
            code, "bad_request",
            "{subscriptions} {notice} {entities}: {message}"
        );
        assert!(message.starts_with(&format!("`{named}`")), "{named}: {message}");
    }
}

const BAD_TOKENS: [&str; 14] = [
    "null",
    "1",
    "\"x\"",
    "[]",
    "{}",
    r#"{"class":"entityId"}"#,
    r#"{"value":"x"}"#,
    r#"{"class":"entityID","value":"x"}"#,
    r#"{"class":1,"value":"x"}"#,
    r#"{"class":"entityId","value":1}"#,
    r#"{"class":"entityId","value":null}"#,
    r#"{"class":"entityId","value":""}"#,
    r#"{"class":"semanticKey","namespace":"n","value":"x"}"#,
    r#"{"class":"subtypeToken","value":"x"}"#,
];

#[test]
fn a_token_that_is_none_is_refused_as_such() {
    for token in BAD_TOKENS {
        let notice = format!(
            r#"{{"id":1,"op":"match","subscriptions":[],"notice":{{"tokens":[{token}]}},"entities":{{}}}}"#
        );
        assert_eq!(refusal_of(&notice).0, "invalid_token", "{token}");
        let subscription = format!(
            r#"{{"id":1,"op":"match","subscriptions":[{{"id":"s","agent_id":"a","tokens_all":[{token}]}}],"notice":{{"tokens":[]}},"entities":{{}}}}"#
        );
        assert_eq!(refusal_of(&subscription).0, "invalid_token", "{token}");
        let Ok(Value::Object(mut members)) = serde_json::from_str(token) else {
            continue;
        };
        members.extend([("id".to_owned(), json!(1)), ("op".to_owned(), json!("token_key"))]);
        assert_eq!(
            refusal_of(&Value::Object(members.clone()).to_string()).0,
            "invalid_token",
            "{token}"
        );
        members.insert("valeu".to_owned(), json!("x"));
        assert_eq!(
            refusal_of(&Value::Object(members).to_string()).0,
            "bad_request",
            "{token}"
        );
    }
}

#[test]
fn every_other_fault_is_found_before_that_of_a_token() {
    for token in BAD_TOKENS {
        for (subscriptions, entities) in [
            (
                format!(r#"[{{"id":"s","agent_id":"a","tokens_any":[{token}]}}]"#),
                "7",
            ),
            (
                format!(
                    r#"[{{"id":"s","agent_id":"a","tokens_any":[{token}],"entity":{{"field":"a","op":"is"}}}}]"#
                ),
                "{}",
            ),
            (
                format!(
                    r#"[{{"id":"s","agent_id":"a","tokens_any":[{token}]}},{{"id":"s","agent_id":"a","tokens_any":[{token}]}}]"#
                ),
                "{}",
            ),
            (
                format!(
                    r#"[{{"id":"s","agent_id":"a","tokens_any":[{token}]}},{{"id":"t","agent_id":"a"}}]"#
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
fn a_message_repeats_little_of_a_long_word() {
    let long = "x".repeat(100_000);
    for line in [
        format!(r#"{{"id":1,"op":"{long}"}}"#),
        format!(r#"{{"id":1,"op":"hash","{long}":1}}"#),
        format!(
            r#"{{"id":1,"op":"match","subscriptions":[],"notice":{{"tokens":[]}},"entities":{{"{long}":1}}}}"#
        ),
        format!(
            r#"{{"id":1,"op":"match","subscriptions":[{{"id":"s","agent_id":"a","tokens_any":[1],"entity":{{"{long}":1}}}}],"notice":{{"tokens":[]}},"entities":{{}}}}"#
        ),
    ] {
        assert!(refusal_of(&line).1.len() < 500);
    }
}
