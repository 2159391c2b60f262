//! `wakeful record`: turns a run into a script that repeats it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, program};

const SCRIPT: &str = r#"
rounds:
  - thinking: "hm"
    text: "Let me look."
    tools:
      - { name: ExecCommand, input: { cmd: "echo one >> world.txt; echo 'a: b # c'" } }
      - { name: Invented, input: { deep: [1, 2.5, null, "x"] } }
  - fail: { status: 429, retry_after_ms: 1, message: "later, please" }
  - fail: { kind: stream_cut, after: "Half a" }
  - text: "Done: {all} 'of' it."
    usage: { input_tokens: 120, output_tokens: 8, cached_read_tokens: 100, reasoning_tokens: 2 }
"#;

/// The messages of all runs of an agent, without times and keys.
fn conversation(world: &TestHome, agent: &str) -> Vec<Value> {
    let said = world.wakeful(&["transcript", agent, "--json"]);
    let lines = said.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        json!([line["role"], line["blocks"]])
    });
    lines.collect()
}

fn run_as(world: &TestHome, agent: &str, model: &str) -> Value {
    let args = [
        "run",
        "do it",
        "--json",
        "--agent",
        agent,
        "--create-agent",
        "--model",
        model,
    ];
    world.wakeful(&args).json()
}

/// The parts that are equal in two runs of the same conversation.
fn gist(run: &Value) -> Value {
    let calls = run["tool_calls"].as_array().expect("calls").iter();
    let calls: Vec<Value> = calls.map(|call| json!([call["tool"], call["status"]])).collect();
    json!([
        run["outcome"],
        run["final_text"],
        run["rounds"],
        run["token_usage"],
        calls
    ])
}

#[test]
fn a_recorded_run_can_be_repeated() {
    let world = TestHome::new();
    let first = run_as(&world, "one", &world.script(SCRIPT));
    assert_eq!(first["outcome"], "completed", "{first}");
    let key = first["run_key"].as_str().expect("a key").to_owned();
    // With a daemon as well as without: record only reads.
    let daemon = RunningDaemon::serve(&world, &[]);
    let beside = world.wakeful(&["record", &key[..12]]);
    daemon.terminate();
    let path = world.path().join("recorded.yaml");
    let shown = path.display().to_string();
    let said = world.wakeful(&["record", &key, "--out", &shown, "--json"]);
    assert_eq!(
        said.json(),
        json!({"run_key": key, "out": shown, "rounds": 4, "redacted": 0}),
        "{said:?}"
    );
    assert_eq!(
        beside.stdout,
        std::fs::read_to_string(&path).expect("a file"),
        "{beside:?}"
    );
    let again = run_as(&world, "two", &format!("scripted:{shown}"));
    assert_eq!(gist(&again), gist(&first));
    let (one, two) = (conversation(&world, "one"), conversation(&world, "two"));
    assert!(one.len() >= 4, "{one:?}");
    assert_eq!(without_durations(&two), without_durations(&one));
    assert_eq!(world.lines(), ["one", "one"]);
    // Recording the repeated run gives the same script.
    let key = again["run_key"].as_str().expect("a key");
    let second = world.wakeful(&["record", key]);
    let body = |text: &str| text.split_once('\n').map(|(_, body)| body.to_owned());
    assert_eq!(body(&second.stdout), body(&beside.stdout));
    let refused = world.wakeful(&["record", key, "--out", &shown, "--json"]);
    assert_eq!(
        refused.error_code(),
        "output_unwritable",
        "a file is not overwritten"
    );
}

/// Removes command durations, which results contain.
fn without_durations(conversation: &[Value]) -> String {
    let text = serde_json::to_string(conversation).expect("JSON");
    let mut parts = text.split("duration_ms\\\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|letter: char| letter.is_ascii_digit())
    })
}

#[test]
fn secrets_are_not_written_to_a_recording() {
    const KEY: &str = "a-secret-of-no-known-shape";
    let world = TestHome::new();
    let script = format!(
        "rounds:\n  - text: 'it is {KEY} or sk-ant-0123456789abcdef0123'\n    tools:\n      - {{name: ExecCommand, input: \
         {{cmd: \"true 'https://me:hunter2@host/' 'Authorization: Bearer 0123456789'\"}}}}\n  - fail: {{status: 500, \
         message: 'no {KEY}'}}\n  - text: done\n"
    );
    let run = run_as(&world, "main", &world.script(&script));
    let key = run["run_key"].as_str().expect("a key");
    let mut command = world.command(program());
    command.args(["record", key]).env("MY_API_KEY", KEY);
    let said: CommandOutput = command.output().expect("the program starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    for secret in [KEY, "0123456789", "hunter2"] {
        assert!(!said.stdout.contains(secret), "{said:?}");
    }
    assert_eq!(said.stdout.matches("[redacted]").count(), 5, "{said:?}");
    assert!(
        said.stderr.contains("recorded 3 rounds and replaced 5 secrets"),
        "{said:?}"
    );
}

/// Keys have no common shape, and the names of their variables need not reveal them.
#[test]
fn provider_keys_are_not_written_to_a_recording() {
    let world = TestHome::new();
    let keys = [
        "plain-words-in-a-file",
        "plain-words-in-a-variable",
        "plain-words-in-a-keyring",
    ];
    let script = format!("rounds:\n  - text: '{}'\n", keys.join(" and "));
    let run = run_as(&world, "main", &world.script(&script));
    let key = run["run_key"].as_str().expect("a key");
    let file = world.path().join("kept");
    std::fs::write(&file, format!("{}\n", keys[0])).expect("a key");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    let tools = world.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let tool = tools.join("secret-tool");
    std::fs::write(&tool, format!("#!/bin/sh\necho {}\n", keys[2])).expect("a tool");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o700)).expect("permissions");
    let provider =
        |name: &str, key: &str| format!("[providers.{name}]\nkind = \"openai-chat\"\nkey = \"{key}\"\n");
    let settings = [
        provider("one", &format!("file:{}", file.display())),
        provider("two", "env:ODDLY_NAMED"),
        provider("three", "keyring:wakeful/three"),
        provider("four", "env:NOT_SET"),
    ];
    std::fs::write(world.home().join("config.toml"), settings.concat()).expect("settings");
    let mut command = world.command(program());
    command.args(["record", key]).env("ODDLY_NAMED", keys[1]);
    command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    let said: CommandOutput = command.output().expect("the program starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!said.stdout.contains("plain-words"), "{said:?}");
    assert_eq!(said.stdout.matches("[redacted]").count(), 3, "{said:?}");
    assert!(
        said.stderr.contains("env:NOT_SET") && !said.stderr.contains("env:ODDLY_NAMED"),
        "{said:?}"
    );
}

#[test]
fn a_queued_message_cannot_be_recorded() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let sent = world.wakeful(&["message", "main", "later", "--json"]).json();
    let key = sent["run_key"].as_str().expect("a key");
    assert_eq!(
        world.wakeful(&["record", key, "--json"]).error_code(),
        "run_unknown"
    );
    assert_eq!(
        world.wakeful(&["record", "beef", "--json"]).error_code(),
        "run_unknown"
    );
}
