//! `wakeful runs retry --from`: a run that continues an earlier one from one of its steps.

use serde_json::Value;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, wait_until};

/// Two commands and an answer. A fresh run of it begins with the first command again.
const TWO_COMMANDS: &str = "rounds:
  - text: first
    tools: [{name: ExecCommand, input: {cmd: echo one >> world.txt}}]
  - text: second
    tools: [{name: ExecCommand, input: {cmd: echo two >> world.txt}}]
  - text: done
";

fn json(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()
}

fn key(run: &Value) -> String {
    run["run_key"].as_str().expect("a key").to_owned()
}

/// Waits until this many runs of the agent have completed.
fn completed(world: &TestHome, count: usize) -> Vec<Value> {
    let args = ["runs", "list", "--agent", "main", "--status", "completed"];
    let mut runs = Vec::new();
    wait_until(|| {
        runs = json(world, &args)["runs"].as_array().expect("runs").clone();
        runs.len() == count
    });
    runs
}

/// The texts of a conversation, with `CALL` and `RESULT` for calls and results.
fn conversation(world: &TestHome, thread: &str) -> Vec<String> {
    let said = world.wakeful(&["transcript", "main", "--thread", thread, "--json"]);
    let lines: Vec<Value> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let blocks = lines
        .iter()
        .flat_map(|line| line["blocks"].as_array().cloned().unwrap_or_default());
    blocks
        .map(|block| match block["type"].as_str() {
            Some("text") => block["text"].as_str().expect("a text").to_owned(),
            Some("tool_use") => "CALL".to_owned(),
            _ => "RESULT".to_owned(),
        })
        .collect()
}

fn refused(said: &CommandOutput) -> (Option<i32>, String) {
    (said.code, said.error_code())
}

#[test]
fn a_run_continues_from_a_step_with_what_happened_before() {
    let world = TestHome::new();
    let model = world.script(TWO_COMMANDS);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    json(&world, &["agent", "create", "main"]);
    json(&world, &["message", "main", "count"]);
    let first = key(&completed(&world, 1)[0]);

    // Step 4 is the second command: the request that led to it is step 3.
    let again = key(&json(
        &world,
        &["runs", "retry", &first, "--from", "4", "--message", "and now"],
    ));
    completed(&world, 2);
    let run = json(&world, &["runs", "show", &again]);
    assert_eq!(run["retries"]["run_key"].as_str(), Some(first.as_str()), "{run}");
    let thread = run["thread"].as_str().expect("a conversation").to_owned();
    assert_eq!(thread, format!("from-{}", &again[..16]));
    let talk = conversation(&world, &thread);
    assert_eq!(talk[..4], ["count", "first", "CALL", "RESULT"], "{talk:?}");
    assert_eq!(talk[4..6], ["and now", "first"], "{talk:?}");
    // The steps show what this run did, not what the conversation began with.
    assert_eq!(run["steps"][0]["output"]["text"], "first", "{run}");
    assert_eq!(run["steps"].as_array().map(Vec::len), Some(5), "{run}");
    assert_eq!(
        conversation(&world, "cli").len(),
        8,
        "the first conversation is unchanged"
    );

    // Before its first request there was only the message; a branch of a branch has what the branch began with.
    let third = key(&json(&world, &["runs", "retry", &again, "--from", "1"]));
    completed(&world, 3);
    let talk = conversation(&world, &format!("from-{}", &third[..16]));
    assert_eq!(
        talk[..6],
        ["count", "first", "CALL", "RESULT", "and now", "first"],
        "{talk:?}"
    );
    drop(daemon);
    for checked in [["verify"].as_slice(), &["replay", &again], &["replay", &third]] {
        let said = world.wakeful(checked);
        assert_eq!(said.code, Some(0), "{checked:?}: {said:?}");
    }
}

#[test]
fn a_retry_that_differs_from_an_open_one_is_refused() {
    let world = TestHome::new();
    let run = world
        .run(TWO_COMMANDS, &["--agent", "main", "--create-agent"])
        .json();
    let first = key(&run);
    let retry = |args: &[&str]| world.wakeful(&[&["runs", "retry", &first, "--json"], args].concat());
    let again = retry(&["--from", "3"]).json();
    assert_eq!(
        retry(&["--from", "4"]).json()["run_key"],
        again["run_key"],
        "the same request"
    );
    for other in [
        &["--from", "1"][..],
        &["--from", "3", "--message", "x"],
        &["--text", "x"],
        &[],
    ] {
        assert_eq!(
            refused(&retry(other)),
            (Some(1), "retry_open".to_owned()),
            "{other:?}"
        );
    }
    assert_eq!(
        refused(&retry(&["--from", "99"])),
        (Some(1), "step_unknown".to_owned())
    );
    assert_eq!(
        retry(&["--from", "3", "--text", "x"]).code,
        Some(2),
        "the conversation has the text"
    );
    assert_eq!(retry(&["--message", "x"]).code, Some(2));
}

#[test]
fn an_erased_run_cannot_be_continued() {
    let world = TestHome::new();
    let first = key(&world
        .run(TWO_COMMANDS, &["--agent", "main", "--create-agent"])
        .json());
    let erase = [
        "erase", "--agent", "main", "--run", &first, "--reason", "test", "--yes",
    ];
    assert_eq!(world.wakeful(&erase).code, Some(0));
    let said = world.wakeful(&["runs", "retry", &first, "--from", "3", "--json"]);
    assert_eq!(refused(&said), (Some(1), "run_erased".to_owned()));
}
