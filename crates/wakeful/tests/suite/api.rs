//! The API of the real daemon, as programs use it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use wakeful_api::client::{Client, ClientError};
use wakeful_api::{
    Endpoint, Event, GetAgentState, GetAgentStatus, GetAgentTranscript, GetDefaultAgentState, GetRun, Limit,
    ListAgentEvents, ListAgentThreads, ListEvents, SendMessage,
};

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, commands, wait_until};

/// Maximum wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn client(daemon: &RunningDaemon<'_>) -> Client {
    let token = std::fs::read_to_string(daemon.world.home().join("token")).expect("a token");
    Client::new(daemon.address().expect("an address"), token)
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .expect("a runtime")
        .block_on(async { tokio::time::timeout(PATIENCE, future).await.expect("in time") })
}

pub(super) fn input<E: Endpoint>(fields: Value) -> E {
    serde_json::from_value(fields).expect("an input")
}

fn message(text: &str, key: &str) -> SendMessage {
    input(json!({"agent_id": "main", "text": text, "key": key}))
}

// Conformance: H-086, H-087
#[test]
fn a_bootstrap_plus_later_events_equals_a_new_bootstrap() {
    let world = TestHome::new();
    let model = world.script(&commands(&["true"]));
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["agent", "create", "main"]);
    let client = client(&daemon);
    block_on(async {
        let main = || json!({"agent_id": "main"});
        let state = || input::<GetAgentState>(main());
        let before = client.call(&state()).await.expect("a state");
        let status = client
            .call(&input::<GetAgentStatus>(main()))
            .await
            .expect("a status");
        assert_eq!(before.agent, status, "the state holds the status");
        assert_eq!(
            client.call(&GetDefaultAgentState {}).await.expect("an alias"),
            before
        );
        let after = before.after_seq.to_string();
        let mut stream = client
            .follow(&input::<ListAgentEvents>(main()), Some(&after))
            .await
            .expect("a stream");
        let sent = client.call(&message("do it", "k")).await.expect("sent");
        let mut seen: Vec<Event> = Vec::new();
        while seen.last().is_none_or(|event| event.kind != "run_ended") {
            let frame = stream.next().await.expect("readable").expect("no end");
            if frame.event == "event" {
                seen.push(serde_json::from_str(frame.text()).expect("an event"));
                assert_eq!(frame.id, seen.last().map(|event| event.seq.to_string()));
            }
        }
        let numbers: Vec<u64> = seen.iter().map(|event| event.seq).collect();
        let expected: Vec<u64> = (before.after_seq + 1..=before.after_seq + numbers.len() as u64).collect();
        assert_eq!(numbers, expected, "without a gap and in order");
        let now = client.call(&state()).await.expect("a state");
        assert_eq!(
            (now.after_seq, now.runs.len()),
            (numbers.last().copied().expect("some"), 1)
        );
        let run = input::<GetRun>(json!({"run_key": sent.run_key}));
        let run = client.call(&run).await.expect("a run");
        assert_eq!((run.outcome.as_str(), run.steps.len()), ("completed", 3));
        let cause = run.cause.expect("a cause");
        assert_eq!(
            (cause.text.as_str(), cause.surface.as_str()),
            ("do it", "http_control_prompt")
        );
        assert!(
            cause.gates.iter().all(|gate| gate.passed)
                && ["mode", "guard", "brake", "control", "one_run_at_a_time"]
                    .iter()
                    .all(|name| cause.gates.iter().any(|gate| gate.gate == *name)),
            "{:?}",
            cause.gates
        );
    });
}

// Conformance: A-91
#[test]
fn text_is_streamed_live_and_only_the_completed_round_is_stored() {
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
        client.call(&message("say it", "k")).await.expect("sent");
        let (mut heard, mut last) = (String::new(), String::new());
        while last != "run_ended" {
            let frame = stream.next().await.expect("readable").expect("no end");
            let data: Value = serde_json::from_str(frame.text()).unwrap_or_default();
            match frame.event.as_str() {
                "delta" => {
                    assert_eq!(frame.id, None, "what is not kept has no place");
                    heard.push_str(data["text"].as_str().expect("words"));
                }
                "event" => last = data["kind"].as_str().expect("a kind").to_owned(),
                _ => {}
            }
        }
        assert_eq!(heard, "one two three");
    });
}

#[test]
fn the_feed_of_all_agents_continues_from_its_cursor_after_a_restart() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    world.wakeful(&["agent", "create", "one"]);
    let first = block_on(async {
        client(&daemon)
            .call(&ListEvents::default())
            .await
            .expect("a feed")
    });
    assert_eq!(first.events.len(), 1, "{:?}", first.events);
    assert!(daemon.terminate().success());
    let daemon = RunningDaemon::serve(&world, &[]);
    world.wakeful(&["agent", "create", "two"]);
    block_on(async {
        let client = client(&daemon);
        let after = |cursor: &str| input::<ListEvents>(json!({"cursor": cursor}));
        let next = client.call(&after(&first.cursor)).await.expect("a feed");
        let agents: Vec<&str> = next.events.iter().map(|event| event.agent_id.as_str()).collect();
        assert_eq!(agents, ["two"], "what was seen does not come again");
        let forged = client.call(&after("AAAA")).await;
        assert!(
            matches!(forged, Err(ClientError::Refused { status: 404, problem }) if problem.code == "bad_cursor")
        );
        let huge = ListEvents {
            limit: Limit(100_000),
            ..ListEvents::default()
        };
        let huge = client.call(&huge).await;
        assert!(
            matches!(huge, Err(ClientError::Refused { status: 400, problem }) if problem.code == "bad_query")
        );
    });
}

#[test]
fn the_same_key_with_another_body_is_a_conflict() {
    let world = TestHome::new();
    let model = world.script(&commands(&["echo one >> world.txt"]));
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["agent", "create", "main"]);
    let client = client(&daemon);
    block_on(async {
        let post = async |message: SendMessage| client.call(&message).await;
        let first = post(message("do it", "k")).await.expect("sent");
        assert_eq!(
            post(message("do it", "k")).await.expect("known").run_key,
            first.run_key
        );
        let limited = SendMessage {
            max_rounds: Some(1),
            ..message("do it", "k")
        };
        for other in [message("do something else", "k"), limited] {
            let refused = post(other).await;
            assert!(
                matches!(refused, Err(ClientError::Refused { status: 409, problem }) if problem.code == "idempotency_conflict")
            );
        }
    });
    wait_until(|| !world.lines().is_empty());
    wait_until(|| world.open_runs().is_empty());
    assert_eq!(world.lines(), ["one"]);
}

// Conformance: H-054
#[test]
fn a_thousand_clients_that_connect_and_disconnect_do_not_harm_the_daemon() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    world.wakeful(&["agent", "create", "main"]);
    let address = daemon.address().expect("an address");
    let token = std::fs::read_to_string(world.home().join("token")).expect("a token");
    let ask = format!(
        "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
    );
    for round in 0..10 {
        let clients: Vec<TcpStream> = (0..100)
            .map(|number| {
                let mut client = TcpStream::connect(&address).expect("a connection");
                // Some disconnect in the middle of their request, some in the middle of the response.
                let words = if number % 3 == 0 {
                    &ask[..ask.len() / 2]
                } else {
                    ask.as_str()
                };
                client.write_all(words.as_bytes()).expect("sent");
                if number % 3 == 1 {
                    let mut head = [0; 16];
                    client.read_exact(&mut head).expect("an answer");
                    assert!(head.starts_with(b"HTTP/1.1 200"), "round {round}");
                }
                client
            })
            .collect();
        drop(clients);
    }
    let status = || world.wakeful(&["status", "--json"]).json();
    wait_until(|| status()["daemon"]["stream_count"] == 0);
    assert_eq!(status()["daemon"]["readiness"], json!("ready"));
}

#[test]
fn conversations_have_their_own_transcripts_and_are_listed() {
    let world = TestHome::new();
    let model = world.script("repeat_last: true\nrounds: [{text: understood}]\n");
    let run = |agent: &str, thread: &str, text: &str| {
        let args = [
            "run",
            text,
            "--agent",
            agent,
            "--create-agent",
            "--thread",
            thread,
            "--model",
            &model,
            "--json",
        ];
        let said = world.wakeful(&args);
        assert_eq!(said.code, Some(0), "{said:?}");
        said.json()["run_key"].as_str().expect("a key").to_owned()
    };
    run("main", "trip", "to Rome");
    let last = run("main", "work", "the report");
    run("main-2", "trip", "of another agent");
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let client = client(&daemon);
    block_on(async {
        let main = || json!({"agent_id": "main"});
        let listed = client
            .call(&input::<ListAgentThreads>(main()))
            .await
            .expect("a list")
            .threads;
        let names: Vec<&str> = listed.iter().map(|one| one.thread.as_str()).collect();
        assert_eq!(names, ["work", "trip"], "the most recent first");
        assert_eq!(listed[0].preview.as_deref(), Some("understood"));
        let trip = json!({"agent_id": "main", "thread": "trip"});
        let told = client
            .call(&input::<GetAgentTranscript>(trip))
            .await
            .expect("a transcript");
        let told = serde_json::to_string(&told.lines).expect("JSON");
        assert!(told.contains("to Rome") && !told.contains("the report"), "{told}");
        let run = client
            .call(&input::<GetRun>(json!({"run_key": last})))
            .await
            .expect("a run");
        assert_eq!(run.thread.as_deref(), Some("work"));
    });
    let bad = world.wakeful(&["run", "x", "--agent", "main", "--thread", "../x", "--json"]);
    assert_eq!((bad.code, bad.error_code().as_str()), (Some(2), "bad_id"));
}
