//! Tests of `converge`. The convergence itself is tested with the records.

use serde_json::{Value, json};

use super::{ask, refusal_of, result_of};

fn converge(replicas: u64, messages: Value, steps: Value) -> Value {
    let mut request = json!({"op": "converge", "replicas": replicas});
    request["messages"] = messages;
    request["steps"] = steps;
    result_of(request)
}

fn write(at: usize, field: &str, value: Value) -> Value {
    let mut step = json!({"do": "write", "at": at, "field": field});
    step["value"] = value;
    step
}

fn send(from: usize, to: usize) -> Value {
    json!({"do": "send", "from": from, "to": to})
}

#[test]
fn replicas_that_exchanged_everything_are_equal() {
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
fn unwritten_fields_are_absent_and_an_empty_set_is_present() {
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
fn destroyed_is_final_and_wins_over_concurrent_writes() {
    let destroyed = write(0, "lifecycle", json!("destroyed"));
    let elsewhere = write(1, "lifecycle", json!("active"));
    let steps = json!([
        destroyed,
        destroyed,
        write(0, "failure_count", json!(1)),
        elsewhere,
        send(1, 0)
    ]);
    let result = converge(2, Value::Null, steps);
    assert_eq!(result["states"][0]["lifecycle"], json!("destroyed"));
    assert_eq!(result["states"][1]["lifecycle"], json!("active"));
}

#[test]
fn steps_and_replicas_are_limited() {
    let most = |steps: usize| {
        let sends = vec![r#"{"do":"send","from":15,"to":0}"#; steps].join(",");
        format!(r#"{{"id":1,"op":"converge","replicas":16,"steps":[{sends}]}}"#)
    };
    assert_eq!(ask(&most(100_000))["ok"], json!(true));
    assert_eq!(refusal_of(&most(100_001)).1, "`steps` must be at most 100000");
}
