//! Output for people, programs and terminals, and failures to write it.

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;

use super::home_fixture::{CommandOutput, TestHome, commands, program};

/// Model output with control characters that a terminal would execute.
const ORDERS: &str = r#"
rounds:
  - text: "look \x1B[2J\x07 here"
    tools: [{name: ExecCommand, input: {cmd: "true"}}]
  - text: "done \x1B]0;mine\x07\tx"
"#;

#[test]
fn a_run_prints_exactly_the_documented_members() {
    let world = TestHome::new();
    let run = world.run(&commands(&["true"]), &[]).json();
    let names = |value: &Value| {
        let members = value.as_object().expect("an object");
        let mut names: Vec<String> = members.keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let mut promised = vec![
        "run_key",
        "agent_id",
        "outcome",
        "final_text",
        "rounds",
        "tool_calls",
        "denied",
        "unknown",
        "token_usage",
        "provider_attempt_timeline",
        "duration_ms",
    ];
    promised.sort_unstable();
    assert_eq!(names(&run), promised);
    assert_eq!(
        names(&run["tool_calls"][0]),
        ["exit_status", "name", "operation_id", "sandbox", "status"]
    );
    let failed = world.run("rounds: [{fail: {status: 401}}]\n", &[]).json();
    promised.push("failure_artifact");
    promised.sort_unstable();
    assert_eq!(names(&failed), promised);
}

#[test]
fn a_run_in_full_has_times_and_a_reason_for_every_step() {
    let world = TestHome::new();
    let script = "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: 'true'}}, {name: Invented, input: {}}]\n  - text: done\n";
    let run = world.run(script, &[]).json();
    let full = world
        .wakeful(&["runs", "show", run["run_key"].as_str().expect("a key"), "--json"])
        .json();
    assert!(
        full["started_at"].is_string() && full["ended_at"].is_string(),
        "{full}"
    );
    let steps = full["steps"].as_array().expect("steps");
    let kinds: Vec<_> = steps
        .iter()
        .map(|step| step["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["model", "tool", "tool", "model"], "{full}");
    assert!(steps.iter().all(|step| step["at"].is_string()), "{full}");
    let reasons: Vec<_> = steps
        .iter()
        .map(|step| step["reason"].as_str().expect("a reason"))
        .collect();
    assert_eq!(
        (reasons[1], reasons[2]),
        ("registered_tool", "unknown_tool"),
        "{full}"
    );
    assert_eq!(full["tool_calls"], run["tool_calls"]);
}

#[test]
fn a_wrong_call_prints_json_if_json_was_requested() {
    let world = TestHome::new();
    for args in [
        &["run", "x", "--json", "--modle", "demo"][..],
        &["run", "--json"],
        &["--json", "no-such-verb"],
        &["runs", "list", "--limit", "0", "--json"],
    ] {
        let said = world.wakeful(args);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "usage"),
            "{said:?}"
        );
        let message = said.json()["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned();
        assert!(!message.is_empty() && !message.starts_with("error"), "{said:?}");
    }
    // After `--` it is a prompt.
    assert_eq!(world.wakeful(&["run", "--modle", "--", "--json"]).stdout, "");
    let help = world.wakeful(&["run", "--json", "--help"]);
    assert!(help.code == Some(0) && help.stdout.contains("Usage"), "{help:?}");
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: hello}]\n");
    for args in [
        &["run", "x", "--model", &model][..],
        &["run", "x", "--json", "--model", &model],
        &["runs", "list"],
        &["completion", "bash"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let mut command = world.command(program());
        let said: CommandOutput = command.args(args).stdout(full).output().expect("starts").into();
        assert_eq!(said.code, Some(1), "{args:?} {said:?}");
        assert!(said.stderr.contains("output_lost"), "{args:?} {said:?}");
    }
}

#[test]
fn a_reader_that_closes_the_pipe_causes_no_failure() {
    let world = TestHome::new();
    let mut command = world.command(program());
    let mut child = command
        .args(["completion", "bash"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    assert!(child.wait().expect("ends").success());
}

#[test]
fn model_output_cannot_control_a_terminal() {
    let world = TestHome::new();
    let model = world.script(ORDERS);
    let piped = world.wakeful(&["run", "x", "--model", &model, "--agent", "a", "--create-agent"]);
    assert_eq!(
        piped.stdout, "done \u{1b}]0;mine\u{7}\tx\n",
        "a file gets every byte"
    );
    assert!(!piped.stderr.contains(['\u{1b}', '\u{7}']), "{piped:?}");
    assert!(piped.stderr.contains("look \u{FFFD}[2J"), "{piped:?}");
    let line = format!("{} run x --agent a --model {model}", program().display());
    for line in [line, format!("{} transcript a", program().display())] {
        let mut command = world.command("script".as_ref());
        let shown: CommandOutput = command
            .args(["-qec", &line, "/dev/null"])
            .env("LANG", "C.UTF-8")
            .output()
            .expect("script")
            .into();
        assert!(shown.stdout.contains("done \u{FFFD}]0;mine"), "{shown:?}");
        assert!(!shown.stdout.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    }
    let json = world.wakeful(&["transcript", "a", "--json"]).stdout;
    assert!(!json.contains(['\u{1b}', '\u{7}']), "{json}");
    assert!(json.contains("\\u001b]0;mine"), "{json}");
}

#[test]
fn a_transcript_that_is_too_large_omits_older_lines_and_reports_it() {
    let world = TestHome::new();
    let long = format!("rounds: [{{text: {}}}]\n", "x".repeat(3 * 1024 * 1024));
    for script in [&long, &long, &long, "rounds: [{text: short}]\n"] {
        let said = world.run(script, &["--agent", "a", "--create-agent"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let said = world.wakeful(&["transcript", "a", "--limit", "500", "--json"]);
    assert!(
        said.stderr.contains("older lines were omitted"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.len() < 9 * 1024 * 1024);
    let last: Value = serde_json::from_str(said.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["blocks"][0]["text"], "short");
    let few = world.wakeful(&["transcript", "a", "--limit", "2", "--json"]);
    assert_eq!((few.stdout.lines().count(), few.stderr.as_str()), (2, ""));
}

#[test]
fn an_unreadable_transcript_line_is_an_error_and_not_an_erasure() {
    let world = TestHome::new();
    let script = commands(&["head -c 60000 /dev/zero | tr '\\0' x"]);
    world.run(&script, &["--agent", "a", "--create-agent"]);
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    // The command's full output is also stored, but not as a transcript entry.
    let foreign = "SELECT hash FROM blob WHERE size = 60000 AND hash NOT IN (SELECT content_hash FROM transcript_entry)";
    let change = format!("UPDATE transcript_entry SET content_hash = ({foreign}) WHERE role = 'tool'");
    assert_eq!(database.execute(&change, []).expect("damage"), 1);
    drop(database);
    let said = world.wakeful(&["transcript", "a", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "database_malformed"),
        "{said:?}"
    );
}
