//! `converge`: what it answers, and what it refuses. Why it converges is shown where records are.

use serde_json::{Value, json};

use super::{refusal_of, result_of};

fn converge(replicas: u64, messages: Value, steps: Value) -> Value {
    result_of(json!({"op": "converge", "replicas": replicas, "messages": messages, "steps": steps}))
}

fn write(at: usize, field: &str, value: Value) -> Value {
    json!({"do": "write", "at": at, "field": field, "value": value})
}

fn send(from: usize, to: usize) -> Value {
    json!({"do": "send", "from": from, "to": to})
}

#[test]
fn replicas_that_told_each_other_everything_are_equal() {
    let steps = json!([
        write(0, "lifecycle", json!("active")),
        send(0, 1),
        write(0, "lifecycle", json!("dormant")),
        write(1, "lifecycle", json!("created")),
        write(0, "sleep_until", json!("2026-02-17T17:00:00+01:00")),
        write(1, "sleep_until", json!(null)),
        write(0, "next_wake_at", json!("2026-02-17T16:00:00Z")),
        write(1, "next_wake_at", json!("2026-02-17T15:59:59.9999Z")),
        write(0, "recent_head", json!("m3")),
        write(1, "recent_head", json!("m1")),
        write(0, "failure_count", json!(3)),
        write(1, "failure_count", json!(2)),
        write(0, "processed.h.1", json!(1)),
        write(1, "processed.h.1", json!(5)),
        write(1, "processed.h.1", json!(2)),
        write(0, "slot.primary_goal", json!("a")),
        write(0, "slot.primary_goal", json!("b")),
        write(1, "slot.primary_goal", json!("c")),
        write(0, "slot.active_task_id", json!("t")),
        write(1, "slot.active_task_id", json!(null)),
        write(0, "slot.open_loop_ids", json!({"add": "z"})),
        write(0, "slot.open_loop_ids", json!({"add": "a"})),
        write(1, "slot.open_loop_ids", json!({"remove": "z"})),
        write(1, "slot.preference.a.b", json!("x")),
        write(1, "slot.extension.my:x", json!({"b": [1.0, null], "a": 1})),
        send(0, 1),
        send(1, 0),
        send(1, 1),
    ]);
    let result = converge(2, json!({"m3": "m2", "m2": "m1"}), steps);
    let state = json!({
        "lifecycle": "dormant",
        "sleep_until": "2026-02-17T16:00:00.000Z",
        "next_wake_at": "2026-02-17T15:59:59.999Z",
        "recent_head": "m3",
        "failure_count": 3,
        "processed.h.1": {"through": 2, "also": [5]},
        "slot.primary_goal": "b",
        "slot.active_task_id": null,
        "slot.open_loop_ids": ["a", "z"],
        "slot.preference.a.b": "x",
        "slot.extension.my:x": {"b": [1.0, null], "a": 1},
    });
    assert_eq!(result["states"], json!([state, state]));
    assert_eq!(
        (&result["equal"], &result["digests"][0]),
        (&json!(true), &result["digests"][1])
    );
    assert_eq!(result["digests"][0].as_str().map(str::len), Some(64));
}

#[test]
fn what_nobody_wrote_is_not_there_and_an_empty_set_is() {
    let result = converge(
        3,
        Value::Null,
        json!([write(0, "slot.open_loop_ids", json!({"remove": "x"}))]),
    );
    assert_eq!(result["states"], json!([{"slot.open_loop_ids": []}, {}, {}]));
    assert_eq!(result["equal"], json!(false));
    assert_eq!(converge(1, json!({}), json!([]))["equal"], json!(true));
}

#[test]
fn nothing_comes_after_destroyed() {
    let destroyed = write(0, "lifecycle", json!("destroyed"));
    let line = |steps: Value| json!({"id": 1, "op": "converge", "replicas": 2, "steps": steps}).to_string();
    let (code, _) = refusal_of(&line(json!([destroyed, write(0, "lifecycle", json!("active"))])));
    assert_eq!(code, "destroyed");
    let (code, _) = refusal_of(&line(json!([
        destroyed,
        send(0, 1),
        write(1, "lifecycle", json!("dormant"))
    ])));
    assert_eq!(code, "destroyed");
    let fine = json!([
        destroyed,
        destroyed,
        write(0, "failure_count", json!(1)),
        write(1, "lifecycle", json!("active")),
        send(1, 0)
    ]);
    assert_eq!(
        converge(2, Value::Null, fine)["states"][0]["lifecycle"],
        json!("destroyed")
    );
    let (code, _) = refusal_of(&line(
        json!([destroyed, write(0, "lifecycle", json!("active")), {"do": "fly"}]),
    ));
    assert_eq!(code, "bad_request", "the form of every step is looked at first");
}

#[test]
fn a_fault_in_a_convergence_names_its_place() {
    let many = Value::Array(vec![send(0, 0); 100_001]);
    for (replicas, messages, steps, named) in [
        (json!(0), json!(null), json!([]), "replicas"),
        (json!(17), json!(null), json!([]), "replicas"),
        (json!(1.0), json!(null), json!([]), "replicas"),
        (json!(null), json!(null), json!([]), "replicas"),
        (json!(1), json!([]), json!([]), "messages"),
        (json!(1), json!({"m2": null}), json!([]), "messages.m2"),
        (json!(1), json!({"m1": "m1"}), json!([]), "messages"),
        (
            json!(1),
            json!({"m1": "m2", "m2": "m3", "m3": "m1", "m0": "m1"}),
            json!([]),
            "messages",
        ),
        (json!(1), json!(null), json!({}), "steps"),
        (json!(1), json!(null), json!(null), "steps"),
        (json!(1), json!(null), many, "steps"),
        (json!(1), json!(null), json!([1]), "steps[0]"),
        (json!(1), json!(null), json!([{}]), "steps[0].do"),
        (json!(1), json!(null), json!([{"do": "join"}]), "steps[0].do"),
        (
            json!(1),
            json!(null),
            json!([{"do": "send", "from": 0}]),
            "steps[0].to",
        ),
        (
            json!(2),
            json!(null),
            json!([send(0, 1), send(2, 0)]),
            "steps[1].from",
        ),
        (json!(2), json!(null), json!([send(0, 2)]), "steps[0].to"),
        (
            json!(2),
            json!(null),
            json!([{"do": "send", "from": 0, "to": -1}]),
            "steps[0].to",
        ),
        (
            json!(2),
            json!(null),
            json!([{"do": "send", "from": 0, "to": 1, "at": 0}]),
            "steps[0].at",
        ),
        (
            json!(1),
            json!(null),
            json!([write(1, "failure_count", json!(1))]),
            "steps[0].at",
        ),
        (
            json!(1),
            json!(null),
            json!([{"do": "write", "at": 0, "field": "failure_count"}]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([{"do": "write", "at": 0, "field": null, "value": 1}]),
            "steps[0].field",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "mood", json!(1))]),
            "steps[0].field",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "processed.", json!(1))]),
            "steps[0].field",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "slot.preference.", json!("x"))]),
            "steps[0].field",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "slot.extension.plain", json!(1))]),
            "steps[0].field",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "processed.h", json!(0))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "failure_count", json!(-1))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "failure_count", json!(null))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "lifecycle", json!("asleep"))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "lifecycle", json!(null))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "sleep_until", json!("tomorrow"))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "slot.open_loop_ids", json!({"add": "a", "remove": "b"}))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, "slot.open_loop_ids", json!(null))]),
            "steps[0].value",
        ),
        (
            json!(1),
            json!(null),
            json!([write(0, &"x".repeat(100_000), json!(null))]),
            "steps[0].field",
        ),
    ] {
        let request =
            json!({"id": 1, "op": "converge", "replicas": replicas, "messages": messages, "steps": steps});
        let (code, message) = refusal_of(&request.to_string());
        assert_eq!(code, "bad_request", "{named}: {message}");
        assert!(message.starts_with(&format!("`{named}`")), "{named}: {message}");
        assert!(message.len() < 600, "{message}");
    }
}
