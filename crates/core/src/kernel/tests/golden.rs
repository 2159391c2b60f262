//! Values computed by another program.

use serde_json::{Value, json};

use super::{ask, result_of};

const CHANGE_KEYS: [&str; 3] = [
    "a1ab2c95f6230b18de3d4173542164cfa41b9e11eb7c527322c9167201dec652",
    "610b92bb814a78c21e3122d4e876cbada4b03b2bb9c08c1999363d032f0f0890",
    "957fca1b0ff6c44faf18e3bcfc1221167eb74c1f353d53808b8ce83e8d589b46",
];

const LOGICAL: &str = "2bdd7b09e4e7b82abd12816f7cf03450ecbece82fc82f55152f18ab970d85b97";

#[test]
fn hashes_match_the_golden_values() {
    let hash =
        |label: &str, fields: Value| result_of(json!({"op": "hash", "label": label, "fields": fields}));
    assert_eq!(
        hash("run.user", json!([])),
        json!({"key": "e75df90b80bd506092dcc3fd65b0adda77cb78cd5dfaa0ada4321c9fa4b0781d"})
    );
    assert_eq!(
        hash("a.b_9", json!(["a|b", "50%", "", "\u{e9}\u{1f600}"])),
        json!({"key": "2e653f32c06f56c6cabaaebbd37c8793603456333cfd94a54b7639d7ae9895e5"})
    );
}

// Conformance: L-047, L-049, L-209
#[test]
fn change_keys_match_the_golden_values() {
    for ((host, counter, payload_type, payload_id), key) in [
        ("laptop.1", 7_u64, "task", "a|b"),
        ("h|%", 9_007_199_254_740_991, "", "\u{e9}"),
        ("laptop.1", 0, "task", "x"),
    ]
    .into_iter()
    .zip(CHANGE_KEYS)
    {
        let request = json!({"op": "change_key", "host_id": host, "counter": counter, "payload_type": payload_type, "payload_id": payload_id});
        assert_eq!(result_of(request), json!({"key": key}));
    }
    let [a, b, c] = CHANGE_KEYS;
    let logical = |keys: Value| result_of(json!({"op": "logical_change_key", "change_keys": keys}));
    let all = json!({"key": "b4172ebcd002f0eff76d710e1105d5cc62d5c048c39cdac3159441b26383c2da"});
    assert_eq!(logical(json!([a, b, c])), all);
    assert_eq!(logical(json!([c, a, b, a, c])), all);
    assert_eq!(logical(json!([a])), json!({"key": LOGICAL}));
}

// Conformance: L-043
#[test]
fn token_keys_match_the_golden_values() {
    for (class, namespace, value, key) in [
        ("semanticKey", Value::Null, "TASK", "semanticKey|-|TASK"),
        (
            "subtypeToken",
            json!("workoutType"),
            "run",
            "subtypeToken|workoutType|run",
        ),
        ("subtypeToken", json!("a|b"), "%", "subtypeToken|a%7Cb|%25"),
        ("subtypeToken", json!(""), "x", "subtypeToken||x"),
        ("entityId", Value::Null, "-", "entityId|-|-"),
    ] {
        let request = json!({"op": "token_key", "class": class, "namespace": namespace, "value": value});
        assert_eq!(result_of(request), json!({"key": key}));
    }
}

// Conformance: L-033 (all asserts: each wake reason has its key),
//     L-071 (first assert: key of a subscription),
//     L-072 (loop over three spellings of one time: key of a timer),
//     L-073 (assert with a session and a turn: key of a user turn),
//     L-077 (last loop: keys of the seven other reasons)
#[test]
fn run_keys_match_the_golden_values() {
    let key = |fields: Value| {
        let mut request = json!({"op": "run_key", "agent_id": "coach"});
        request
            .as_object_mut()
            .expect("an object")
            .extend(fields.as_object().expect("an object").clone());
        result_of(request)["key"].as_str().expect("a key").to_owned()
    };
    assert_eq!(
        key(json!({"reason": "subscription", "subscription_id": "s|1", "logical_change_key": LOGICAL})),
        "43bffd251c30b4b190c9196c73ecd2598bb429fbd065d525ac5b66018f75b3dc"
    );
    for time in [
        "2026-02-17T16:00:00.123Z",
        "2026-02-17T18:30:00.123999999+02:30",
        "2026-02-16T16:01:00.1230-23:59",
    ] {
        assert_eq!(
            key(json!({"reason": "timer", "timer_id": "t1", "scheduled_at": time})),
            "8cfa078f2d652d14440d3aaa1c0c4e6a4f2aa8e51691133b47c2375f6fbdb57b",
            "{time}"
        );
    }
    assert_eq!(
        key(json!({"reason": "user", "agent_id": "main", "session_id": "cli", "turn_id": "t1"})),
        "4d21939c476e6eb1a07ccae5304d681dd03c863865ce8eaa93519b75c5ef55b8"
    );
    for (reason, expected) in [
        (
            "trigger",
            "49a5d595251a5bac996a5e3402195c949f28d34c71a005baed191e74593e6467",
        ),
        (
            "task",
            "dd586deb56157006a15759dbaa8080fb7afaaa1d7810be7b1d10ada5f423315a",
        ),
        (
            "tick",
            "ac2b29f5fb44ea67b7e66505ba92f08240ad9ad011410323f2be602d8aa5c6e5",
        ),
        (
            "work",
            "276da04a8c6b2adf35117438fa21f6eda73385d14b222957282db08e8f3d051f",
        ),
        (
            "spawn",
            "58a3688aee825d8f47f0a2a4353d406d38de6cdbe16eb739594cc0c15eca505f",
        ),
        (
            "manual",
            "4bebd62d8fadb51d0e7d80d6d87297b12384e9cf10951d65d408e7eeedd4efd5",
        ),
        (
            "catchup",
            "55a59f0102bcbb0a6e06f855b8b126f39e3ff72baa8a970f53311329be94255a",
        ),
    ] {
        assert_eq!(
            key(json!({"reason": reason, "source_id": "x:1"})),
            expected,
            "{reason}"
        );
    }
}

// Conformance: L-107, L-147, L-148
#[test]
fn action_and_summary_ids_match_the_golden_values() {
    let arguments = r#"{"b":{"\ufb33":333333333.33333329,"😀":1E21},"a":[1.0,true,null,"\u0001\u00e9"]}"#;
    let rest = r#""scope":null,"targets":["b","😀","a","b","\ufb33"],"occurrence":3"#;
    let line = format!(
        r#"{{"id":1,"op":"operation_id","run_key":"{LOGICAL}","tool":"ExecCommand","arguments":{arguments},{rest}}}"#
    );
    assert_eq!(
        ask(&line)["result"],
        json!({
            "action_stable_id": "355d842ffb0e1ca34cd4d43c79daa9c1b51d5345f628fb2d937086870725f558",
            "operation_id": "fa214bf62369618ebbfde14aa61a0ec0750d7717a9140757fb9a1a67893dd9d3"
        })
    );
    let summary = json!({
        "op": "summary_id", "agent_id": "coach", "thread_id": "coach:session:cli", "start_message_id": "m1",
        "end_message_id": "m9", "contract_version": "2"
    });
    assert_eq!(
        result_of(summary),
        json!({"key": "d18397b6e79793501bf1b8c660fdd1d8efc58d87e9712e492457837631ac71d0"})
    );
}

// Conformance: L-147
#[test]
fn an_action_id_does_not_depend_on_the_json_spelling() {
    let named = |arguments: &str, scope: &str, targets: &str, occurrence: u64| {
        let what = format!(r#""arguments":{arguments},"scope":{scope},"targets":{targets}"#);
        let line = format!(
            r#"{{"id":1,"op":"operation_id","run_key":"{LOGICAL}","tool":"t",{what},"occurrence":{occurrence}}}"#
        );
        ask(&line)["result"]["action_stable_id"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    let one = named(r#"{"a":1,"b":[1e2]}"#, "{}", r#"["x","y"]"#, 0);
    assert_eq!(
        one,
        named(r#"{ "b" : [100.0], "\u0061":1.0 }"#, "{}", r#"["y","x","y"]"#, 0)
    );
    for other in [
        named(r#"{"a":1,"b":[101]}"#, "{}", r#"["x","y"]"#, 0),
        named(r#"{"a":1,"b":[1e2]}"#, "[]", r#"["x","y"]"#, 0),
        named(r#"{"a":1,"b":[1e2]}"#, "{}", r#"["x"]"#, 0),
        named(r#"{"a":1,"b":[1e2]}"#, "{}", r#"["x","y"]"#, 1),
    ] {
        assert_ne!(one, other);
    }
}

fn matching(subscriptions: Value, tokens: Value, entities: Value) -> Value {
    let mut request = json!({"op": "match", "notice": {}});
    request["subscriptions"] = subscriptions;
    request["notice"]["tokens"] = tokens;
    request["entities"] = entities;
    result_of(request)
}

#[test]
fn matching_returns_subscriptions_and_loaded_entities() {
    let task = json!({"class": "semanticKey", "value": "TASK"});
    let run = json!({"class": "subtypeToken", "namespace": "workoutType", "value": "run"});
    let entity = |id: &str| json!({"class": "entityId", "value": id});
    let gym = json!({"field": "category.id", "op": "eq", "value": "gym"});
    let subscriptions = json!([
        {"id": "z", "agent_id": "a", "tokens_any": [task, run], "entity": gym},
        {"id": "any", "agent_id": "a", "tokens_any": [run, task], "tokens_all": null, "entity": null},
        {"id": "all", "agent_id": "a", "tokens_any": [], "tokens_all": [task, entity("t1")]},
        {"id": "both", "agent_id": "b", "tokens_any": [entity("t9")], "tokens_all": [task]},
        {"id": "\u{1f600}", "agent_id": "", "tokens_all": [task]},
        {"id": "\u{fb33}", "agent_id": "", "tokens_all": [task]},
        {"id": "", "agent_id": "", "tokens_any": [task]},
    ]);
    let entities = json!({"t1": {"category": {"id": "gym"}}, "t2": {"category": "gym"}, "t3": {}});
    let seen = |tokens: Value| matching(subscriptions.clone(), tokens, entities.clone());
    assert_eq!(
        seen(json!([
            task,
            entity("t1"),
            entity("t2"),
            entity("t1"),
            entity("t8")
        ])),
        json!({"matched": ["", "all", "any", "z", "\u{fb33}", "\u{1f600}"], "entity_loads": 2})
    );
    assert_eq!(
        seen(json!([task, entity("t2"), entity("t9")])),
        json!({"matched": ["", "any", "both", "\u{fb33}", "\u{1f600}"], "entity_loads": 1})
    );
    assert_eq!(
        seen(json!([entity("t1")])),
        json!({"matched": [], "entity_loads": 0})
    );
    assert_eq!(seen(json!([])), json!({"matched": [], "entity_loads": 0}));
    assert_eq!(
        seen(json!([run])),
        json!({"matched": ["any"], "entity_loads": 0}),
        "no record changed"
    );
    assert_eq!(
        matching(json!([]), json!([task]), json!({})),
        json!({"matched": [], "entity_loads": 0})
    );
}

#[test]
fn a_missing_value_and_null_are_different() {
    let token = json!({"class": "entityId", "value": "e"});
    let seen = |predicate: Value, fields: Value| {
        let subscription = json!([{"id": "s", "agent_id": "a", "tokens_any": [token], "entity": predicate}]);
        matching(subscription, json!([token]), json!({"e": fields}))["matched"] == json!(["s"])
    };
    for value in [
        json!({"field": "a", "op": "eq"}),
        json!({"field": "a", "op": "eq", "value": null}),
    ] {
        assert!(seen(value.clone(), json!({"a": null})) && !seen(value, json!({})));
    }
    assert!(seen(
        json!({"field": "a", "op": "exists", "value": null}),
        json!({"a": null})
    ));
}
