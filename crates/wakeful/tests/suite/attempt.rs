//! The record of every attempt at a model round.

use serde_json::{Value, json};

use super::home_fixture::TestHome;
use super::provider::{FakeProvider, KEY, holds_key};
use super::route::{call, chat, provider, write};

/// Milliseconds since midnight of a time in the program's output.
fn millis(time: &Value) -> i64 {
    let time = time.as_str().expect("a time");
    let part = |range: std::ops::Range<usize>| time[range].parse::<i64>().expect("digits");
    ((part(11..13) * 60 + part(14..16)) * 60 + part(17..19)) * 1_000 + part(20..23)
}

// Conformance: H-016 (asserts on `outcome`: retrying and succeeded),
//     H-017 (asserts on the fields of both attempts),
//     H-019 (asserts on the timeline: the failed attempt is kept, models are named),
//     H-020 (asserts on the wait and the duration: backoff is not part of an attempt)
#[test]
fn the_timeline_has_every_attempt_with_its_delay_times_and_tokens() {
    let world = TestHome::new();
    let script = "
rounds:
  - fail: {status: 429, retry_after_ms: 300}
  - text: done
    usage: {input_tokens: 9, output_tokens: 2, cached_read_tokens: 4, reasoning_tokens: 1}
";
    let run = world.run(script, &[]).json();
    let timeline = &run["provider_attempt_timeline"];
    let (first, second) = (&timeline["attempts"][0], &timeline["attempts"][1]);
    assert_eq!(
        (&first["attempt"], &first["max_attempts"]),
        (&json!(1), &json!(3)),
        "{first}"
    );
    assert_eq!(
        (&first["outcome"], &first["failure_kind"], &first["disposition"]),
        (&json!("retrying"), &json!("http_429"), &json!("retryable"))
    );
    assert_eq!(first["backoff_ms"], 300);
    assert_eq!(
        (&second["attempt"], &second["outcome"]),
        (&json!(2), &json!("succeeded")),
        "{second}"
    );
    let waited = millis(&second["started_at"]) - millis(&first["completed_at"]);
    assert!(waited >= 300, "the wait belongs to no attempt: {timeline}");
    assert!(second["duration_ms"].as_u64().expect("ms") < 300, "{second}");
    assert_eq!(
        second["token_usage"],
        json!({"input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "cached_read_tokens": 4, "reasoning_tokens": 1})
    );
    assert_eq!(timeline["winning_model_ref"], timeline["requested_model_ref"]);
    let events = world
        .wakeful(&["events", run["agent_id"].as_str().expect("an agent"), "--json"])
        .stdout;
    let rounds: Vec<Value> = events
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["kind"] == "provider_round_completed")
        .collect();
    assert_eq!(rounds.len(), 2, "{events}");
    assert_eq!(rounds[0]["payload"]["outcome"], "retrying");
    assert_eq!(rounds[1]["payload"]["token_usage"]["reasoning_tokens"], 1);
    assert!(
        !rounds[1]["payload"].to_string().contains("done"),
        "telemetry holds no words"
    );
}

// Conformance: H-030
#[test]
fn a_provider_that_reports_no_usage_fails_nothing() {
    let world = TestHome::new();
    let run = world.run("rounds: [{text: done}]\n", &[]).json();
    assert_eq!(run["token_usage"]["total_tokens"], 0);
    assert_eq!(run["outcome"], "completed");
    assert_eq!(run["cost_usd"], Value::Null, "what costs nothing names no price");
}

#[test]
fn a_key_read_by_a_command_reaches_neither_model_nor_database() {
    let world = TestHome::new();
    let path = world.path().join("key");
    // The file named in the settings is denied to commands; a copy of it is not.
    let copy = world.workspace().join("copy");
    let asks = json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [{
        "id": "c1", "type": "function",
        "function": {"name": "ExecCommand", "arguments": json!({"cmd": format!("cat {}", copy.display())}).to_string()},
    }]}}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
    let fake = FakeProvider::new(vec![(200, asks), chat("read")]);
    std::fs::create_dir_all(world.workspace()).expect("a folder");
    std::fs::write(&path, KEY).expect("a key");
    std::fs::write(&copy, KEY).expect("a copy");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("permissions");
    write(
        &world,
        &provider("mine", &fake, &format!("key = \"file:{}\"", path.display())),
    );
    let said = call(&world, &["run", "do it", "--json", "--model", "mine/m"], &[]);
    assert_eq!(said.json()["final_text"], "read", "{said:?}");
    let second = fake.asked()[1].1.to_string();
    assert!(second.contains("[hidden]") && !second.contains(KEY), "{second}");
    for file in [&path, &copy] {
        std::fs::remove_file(file).expect("removed");
    }
    assert!(!holds_key(world.path()));
}
