//! Failures, retries and exit statuses as a person sees them.

use serde_json::{Value, json};
use wakeful_api::{DismissAttention, Endpoint, GetAgentTranscript, ListAttention};

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, wait_until};

fn json(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()
}

fn call<E: Endpoint>(daemon: &RunningDaemon<'_>, fields: Value) -> Value {
    let response = block_on(client(daemon).call(&input::<E>(fields))).expect("a response");
    serde_json::to_value(response).expect("JSON")
}

fn attention(daemon: &RunningDaemon<'_>) -> Value {
    call::<ListAttention>(daemon, json!({}))
}

fn runs(world: &TestHome, status: &str) -> Vec<Value> {
    let list = json(world, &["runs", "list", "--agent", "main", "--status", status]);
    list["runs"].as_array().expect("runs").clone()
}

#[test]
fn a_failed_run_is_explained_run_again_and_dismissed_for_good() {
    let world = TestHome::new();
    let failing = world.script("rounds:\n  - fail: { status: 401, message: no such key }\n");
    let daemon = RunningDaemon::serve(&world, &["--model", &failing]);
    json(&world, &["agent", "create", "main"]);
    json(&world, &["message", "main", "count the files"]);
    wait_until(|| runs(&world, "failed").len() == 1);
    let failed = runs(&world, "failed")[0]["run_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    let item = attention(&daemon)["items"][0].clone();
    assert_eq!(item["kind"], "failed_runs", "{item}");
    assert!(
        item["message"]
            .as_str()
            .expect("words")
            .contains("refused the API key"),
        "{item}"
    );
    let shown = world.wakeful(&["runs", "show", &failed]);
    assert!(shown.stdout.contains("wakeful runs retry"), "{shown:?}");
    let transcript = call::<GetAgentTranscript>(&daemon, json!({ "agent_id": "main" }));
    let last = transcript["lines"]
        .as_array()
        .expect("lines")
        .last()
        .expect("a line");
    assert_eq!(last["run"]["status"], "failed", "{transcript}");
    assert_eq!(last["run"]["explanation"]["next_steps"][0], "check_provider");
    let again = json(&world, &["runs", "retry", &failed]);
    assert_eq!(again["admission"], "new", "{again}");
    wait_until(|| runs(&world, "failed").len() == 2);
    let item = attention(&daemon)["items"][0].clone();
    assert_eq!(
        (&item["count"], &item["run_keys"][0]),
        (&json!(1), &again["run_key"]),
        "{item}"
    );
    let body = json!({ "run_keys": item["run_keys"] });
    assert_eq!(call::<DismissAttention>(&daemon, body)["items"], json!([]));
    drop(daemon);
    let daemon = RunningDaemon::serve(&world, &["--model", &failing]);
    assert_eq!(attention(&daemon)["items"], json!([]), "the server keeps it");
}

#[test]
fn a_command_that_ends_with_status_3_is_not_ok() {
    let world = TestHome::new();
    let model =
        world.script("rounds:\n  - tools: [{ name: ExecCommand, input: { cmd: exit 3 } }]\n  - text: done\n");
    let said = world.wakeful(&["run", "--model", &model, "go"]);
    assert!(said.stderr.contains("← ExecCommand exit 3 in"), "{said:?}");
    let list = json(&world, &["runs", "list"]);
    let key = list["runs"][0]["run_key"].as_str().expect("a key").to_owned();
    assert_eq!(list["runs"][0]["counts"]["failed"], 1, "{list}");
    let run = json(&world, &["runs", "show", &key]);
    assert_eq!(run["tool_calls"][0]["exit_status"], 3, "{run}");
    let shown = world.wakeful(&["runs", "show", &key]);
    assert!(shown.stdout.contains("exit 3 "), "{shown:?}");
    let agent = list["runs"][0]["agent_id"].as_str().expect("an agent").to_owned();
    let events = world.wakeful(&["events", &agent, "--json"]);
    assert!(events.stdout.contains("ended with exit 3"), "{events:?}");
}
