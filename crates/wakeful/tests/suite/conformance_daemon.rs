//! Requirements of the conformance tables that no other test covers, with a daemon.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::{Value, json};
use wakeful_api::{GetDefaultAgentState, ListAgentEvents, SendMessage};

use super::api::{block_on, client, input};
use super::daemon::{RunningDaemon, is_ready};
use super::home_fixture::{TestHome, program, wait_until};
use super::provider::FakeProvider;
use super::route::{chat, provider, write};

fn json(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()
}

/// Calls a trigger like a system without the API token. Returns the status and body of the response.
fn deliver(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let status = response.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = response.split("\r\n\r\n").nth(1).unwrap_or_default();
    (status.expect("a status"), body.to_owned())
}

fn trigger_path(world: &TestHome, agent: &str) -> String {
    let shown = json(world, &["agent", "external-trigger", "show", agent]);
    shown["trigger_path"].as_str().expect("a path").to_owned()
}

// Conformance: H-149
#[test]
fn a_stopped_agent_refuses_every_ingress_and_names_resume() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "coach"]);
    json(&world, &["subscribe", "coach", "--on", "TASK"]);
    let schedule = json(
        &world,
        &[
            "schedule",
            "add",
            "coach",
            "--every",
            "1h",
            "--message",
            "go",
            "--always",
        ],
    );
    let schedule = schedule["schedule_id"].as_str().expect("an id");
    let path = trigger_path(&world, "coach");
    json(&world, &["agent", "stop", "coach"]);
    let model = world.script("rounds:\n  - text: never\n");
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    for args in [
        &["message", "coach", "hello"][..],
        &["run", "hello", "--agent", "coach"],
        &["agent", "wake", "coach"],
    ] {
        let said = world.wakeful(&[args, &["--json"]].concat());
        assert_eq!(said.error_code(), "stopped", "{args:?}: {said:?}");
        let hint = said.json()["error"]["hint"].to_string();
        assert!(hint.contains("wakeful agent resume"), "{args:?}: {hint}");
    }
    let (status, body) = deliver(&daemon.address().expect("an address"), &path);
    assert_eq!(status, 409, "{body}");
    assert!(
        body.contains("\"stopped\"") && body.contains("wakeful agent resume"),
        "{body}"
    );
    world.wakeful(&["schedule", "trigger-now", schedule, "--json"]);
    json(&world, &["journal", "task", "add", "Leg day"]);
    let why_not = || json(&world, &["why-not", "coach"]);
    let sources = ["operator", "trigger", "schedule", "subscription"];
    wait_until(|| {
        let refusals = why_not()["refusals"].to_string();
        sources.iter().all(|source| refusals.contains(source))
    });
    let told = why_not();
    for refusal in told["refusals"].as_array().expect("refusals") {
        assert_eq!(refusal["code"], "stopped", "{refusal}");
        let way_out = refusal["hint"].as_str().expect("a way out");
        assert!(way_out.contains("wakeful agent resume"), "{refusal}");
    }
    assert_eq!(told["holds"][0]["code"], "stopped", "{told}");
    assert_eq!((&told["queued_count"], &told["queued"]), (&json!(0), &json!([])));
}

// Conformance: H-153
#[test]
fn the_offered_tools_do_not_depend_on_who_woke_the_agent() {
    let (world, fake) = (
        TestHome::new(),
        FakeProvider::new(vec![chat("One."), chat("Two.")]),
    );
    write(
        &world,
        &format!("[model]\ndefault = \"own/m\"\n{}", provider("own", &fake, "")),
    );
    world.wakeful(&["agent", "create", "coach"]);
    let daemon = RunningDaemon::serve(&world, &[]);
    json(&world, &["message", "coach", "hello"]);
    wait_until(|| fake.asked().len() == 1);
    let (status, body) = deliver(
        &daemon.address().expect("an address"),
        &trigger_path(&world, "coach"),
    );
    assert_eq!(status, 202, "{body}");
    wait_until(|| fake.asked().len() == 2);
    let authority = || {
        let runs = json(&world, &["runs", "list", "--agent", "coach"]);
        let runs = runs["runs"].as_array().expect("runs").clone();
        let shown = runs.iter().map(|run| run["run_key"].as_str().expect("a key"));
        let shown: Vec<Value> = shown
            .map(|key| json(&world, &["runs", "show", key])["cause"]["authority"].clone())
            .collect();
        shown
    };
    assert_eq!(authority(), ["integration_signal", "operator_instruction"]);
    let asked = fake.asked();
    assert!(!asked[0].1["tools"].as_array().expect("tools").is_empty());
    assert_eq!(asked[0].1["tools"], asked[1].1["tools"]);
}

// Conformance: H-108
#[test]
fn a_request_without_an_agent_goes_to_the_default_agent() {
    for (variable, wanted) in [(None, "main"), (Some("coach"), "coach")] {
        let world = TestHome::new();
        for agent in ["main", "coach"] {
            world.wakeful(&["agent", "create", agent]);
        }
        let mut command = world.command(program());
        command
            .args(["serve", "--port", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(agent) = variable {
            command.env("WAKEFUL_AGENT", agent);
        }
        let daemon = RunningDaemon::of(&world, command.spawn().expect("the program starts"));
        wait_until(|| daemon.address().is_some_and(|address| is_ready(&address)));
        let client = client(&daemon);
        let state = block_on(client.call(&GetDefaultAgentState {})).expect("a state");
        assert_eq!(state.agent.agent_id, wanted);
    }
}

// Conformance: H-071
#[test]
fn the_background_daemon_is_serve_with_the_same_options() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let options = ["--port", "0", "--model", "demo"];
    let started = json(&world, &[&["daemon", "start"], &options[..]].concat());
    let pid = started["pid"].as_u64().expect("a process id");
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).expect("it runs");
    world.wakeful(&["daemon", "stop"]);
    let words = String::from_utf8(words).expect("text");
    let words: Vec<&str> = words.split_terminator('\0').collect();
    let home = world.home();
    let home = home.to_str().expect("text");
    assert_eq!(
        words[..4],
        [program().to_str().expect("text"), "serve", "--home", home]
    );
    let mut given: Vec<&str> = words[4..].to_vec();
    let mut wanted = options.to_vec();
    given.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(given, wanted, "{words:?}");
}

// Conformance: A-91
#[test]
fn text_arrives_in_numbered_chunks_before_the_model_has_ended() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: 'one two three', delay_ms: 300}]\n");
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["agent", "create", "main"]);
    let client = client(&daemon);
    block_on(async {
        let mut stream = client
            .follow(&input::<ListAgentEvents>(json!({"agent_id": "main"})), None)
            .await
            .expect("a stream");
        let sent: SendMessage = input(json!({"agent_id": "main", "text": "say it", "key": "k"}));
        client.call(&sent).await.expect("sent");
        let (mut chunks, mut last) = (Vec::new(), String::new());
        while last != "provider_round_completed" {
            let frame = stream.next().await.expect("readable").expect("no end");
            let data: Value = serde_json::from_str(frame.text()).unwrap_or_default();
            match frame.event.as_str() {
                "delta" => chunks.push(data["chunk"].as_u64().expect("a number")),
                "event" => last = data["kind"].as_str().expect("a kind").to_owned(),
                _ => {}
            }
        }
        assert!(!chunks.is_empty(), "no text came before the end of the request");
        assert_eq!(chunks, (0..chunks.len() as u64).collect::<Vec<_>>());
    });
}

// Conformance: H-091
#[test]
fn a_foreign_socket_is_refused_with_the_verb_to_run_next() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let run = world.home().join("run");
    std::fs::create_dir_all(&run).expect("a folder");
    let record = json!({"pid": 1, "pid_started": 1, "http_addr": "127.0.0.1:1", "token_file": "/nowhere"});
    std::fs::write(run.join("daemon.json"), record.to_string()).expect("a stale record");
    let other = UnixListener::bind(run.join("wakeful.sock")).expect("a socket");
    let said = world.wakeful(&["serve", "--port", "0", "--json"]);
    assert_eq!(said.error_code(), "socket_in_use", "{said:?}");
    let hint = said.json()["error"]["hint"].to_string();
    assert!(hint.contains("`wakeful daemon start`"), "{hint}");
    drop(other);
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(
        json(&world, &["daemon", "status"])["running"],
        true,
        "the stale record is replaced"
    );
}
