//! Tests of streams and pages on the real services, with an in-memory database.

mod agent;
mod agent_logs;
mod all;
mod feed;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use wakeful_core::id::AgentId;

use self::agent_logs::AgentLogs;
use super::body::{FrameSource, respond};
use super::{STALL_MS_MAX, StreamGuard, last_event_id, seq_of};
use crate::app::DaemonStage;
use crate::connection::{self, connection};
use crate::peer::Peer;
use crate::slots::Slots;

fn id(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good id")
}

/// A daemon that can be stopped.
struct Daemon(watch::Sender<DaemonStage>);

impl Daemon {
    fn new() -> Self {
        Self(watch::Sender::new(DaemonStage::Recovering))
    }

    fn stay(&self) -> StreamGuard {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned();
        StreamGuard {
            stage: self.0.subscribe(),
            session: None,
            _permit: permit.expect("a permit"),
        }
    }

    fn stop(&self) {
        self.0.send_replace(DaemonStage::Stopping);
    }
}

/// A client that reads frame by frame.
struct Client(Body);

/// One parsed frame.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    name: String,
    id: Option<String>,
    data: Value,
}

impl Client {
    fn of(source: impl FrameSource) -> Self {
        Self(respond(source).into_body())
    }

    /// The next frame as text, if one is available now; `None` at the end.
    async fn text(&mut self) -> Option<String> {
        let frame = self.0.frame().await?.expect("a body that cannot fail");
        let bytes = frame.into_data().expect("data");
        Some(String::from_utf8(bytes.to_vec()).expect("text"))
    }

    /// The next frame, which must arrive.
    async fn see(&mut self) -> Seen {
        let text = self.text().await.expect("a frame");
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        Seen {
            name: field("event").unwrap_or("").to_owned(),
            id: field("id").map(str::to_owned),
            data: field("data").map_or(Value::Null, |data| serde_json::from_str(data).expect("json")),
        }
    }

    /// The next frames as agent and sequence number; all must be events.
    async fn events(&mut self, count: usize) -> Vec<(String, u64)> {
        let mut events = Vec::new();
        for _ in 0..count {
            let seen = self.see().await;
            assert_eq!(seen.name, "event", "{seen:?}");
            let agent = seen.data["agent_id"].as_str().expect("an agent");
            events.push((agent.to_owned(), seen.data["seq"].as_u64().expect("a number")));
        }
        events
    }

    async fn seqs(&mut self, count: usize) -> Vec<u64> {
        self.events(count).await.into_iter().map(|(_, seq)| seq).collect()
    }

    /// Whether nothing can be read now. The test clock does not advance while data is available.
    async fn is_silent(&mut self) -> bool {
        let soon = Duration::from_millis(1);
        tokio::time::timeout(soon, self.0.frame()).await.is_err()
    }

    async fn has_ended(&mut self) -> bool {
        self.text().await.is_none()
    }
}

/// The error code of a refusal.
fn code(refused: &crate::error::ApiError) -> String {
    let text = format!("{refused:?}");
    let code = text
        .split("code: \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    code.unwrap_or(&text).to_owned()
}

#[test]
fn a_last_event_id_is_a_plain_number_and_nothing_else() {
    assert_eq!(seq_of("0").expect("a number"), 0);
    assert_eq!(seq_of("42").expect("a number"), 42);
    for bad in ["", "-1", "+1", "1.0", "x", " 1", "18446744073709551616", "१"] {
        let error = format!("{:?}", seq_of(bad).expect_err(bad));
        assert!(error.contains("bad_cursor"), "{error}");
    }
    let mut headers = axum::http::HeaderMap::new();
    assert_eq!(last_event_id(&headers).expect("none"), None);
    headers.insert("last-event-id", "7".parse().expect("a value"));
    assert_eq!(last_event_id(&headers).expect("one"), Some("7"));
    headers.insert("last-event-id", "\u{e9}".parse().expect("a value"));
    assert!(last_event_id(&headers).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_its_content_type_and_is_not_cached() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let source = super::agent::open(logs.runtime, id("main"), None, daemon.stay())
        .await
        .expect("a stream");
    let response = respond(source);
    let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
    let shown = ["content-type", "cache-control", "x-accel-buffering"].map(header);
    assert_eq!(shown, ["text/event-stream", "no-store", "no"]);
}

/// Uses the server's own connection over a pipe that holds a few frames, so that a client that does not
/// read blocks the server.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected_and_frees_its_slot() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 3_000);
    let source = super::agent::open(logs.runtime.clone(), id("main"), Some(0), daemon.stay())
        .await
        .expect("a stream");
    let one = Arc::new(Mutex::new(Some(respond(source))));
    let take = move || std::future::ready(one.lock().expect("a lock").take().expect("one request"));
    let app = Router::new().route("/", get(take));
    let (mut client, server) = tokio::io::duplex(1_024);
    let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    client.write_all(request).await.expect("sent");
    assert_eq!(logs.listeners(), 1);
    let served = connection::ConnectionClient {
        peer: Peer::Network("127.0.0.1:1".parse().expect("an address")),
        slot: Slots::new(1).open().expect("a slot"),
    };
    let (begun, (_stop, stopped)) = (Instant::now(), watch::channel(false));
    let serving = connection(server, served, app, stopped);
    let ended = tokio::time::timeout(Duration::from_millis(2 * STALL_MS_MAX), serving).await;
    assert!(ended.is_ok(), "it is still there");
    assert_eq!(begun.elapsed().as_millis(), u128::from(STALL_MS_MAX));
    assert_eq!(logs.listeners(), 0);
}

/// A thousand idle clients should cost at most 40 kB each, and their connections need most of that.
#[tokio::test(start_paused = true)]
async fn an_idle_stream_uses_little_memory() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let one = super::agent::open(logs.runtime.clone(), id("main"), None, daemon.stay())
        .await
        .expect("a stream");
    let all = super::all::open(logs.runtime, None, daemon.stay())
        .await
        .expect("a stream");
    let held = size_of_val(&one) + size_of_val(&Box::new(one).next());
    assert!(held <= 4_096, "{held} bytes");
    let held = size_of_val(&all) + size_of_val(&Box::new(all).next());
    assert!(held <= 4_096, "{held} bytes");
}
