//! Agent control and why reports over HTTP, and the limits of the public trigger endpoint.

use super::limit::futures_poll;
use super::services::main;
use axum::http::{Method, StatusCode};
use serde_json::Value;
use wakeful_core::cause::Priority;
use wakeful_core::id::TurnId;
use wakeful_core::message::RunOptions;
use wakeful_core::run::RunStatus;
use wakeful_runtime::api::IncomingMessage;
use wakeful_store::rows::RunRow;

use super::test_server::{TestServer, posted, request};

#[tokio::test]
async fn each_change_of_an_agent_has_its_own_path() {
    let world = TestServer::new();
    let change = async |path: &str, body: &str, field: &str, wanted: &str| {
        let answer = world.post(&format!("/api/agents/main/{path}"), body).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!(told[field], wanted, "{path}");
        let unknown = world.post(&format!("/api/agents/nobody/{path}"), body).await;
        assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{path}");
    };
    for (path, body, field, wanted) in [
        ("activate", "", "lifecycle", "active"),
        ("dormant", "", "lifecycle", "dormant"),
        ("stop", "", "control", "stopped"),
        ("mode", r#"{"mode":"interactive"}"#, "mode", "interactive"),
        (
            "sleep",
            r#"{"until":"2030-01-01T00:00:00Z"}"#,
            "sleep_until",
            "2030-01-01T00:00:00.000Z",
        ),
    ] {
        change(path, body, field, wanted).await;
    }
    for (path, body) in [
        ("mode", r#"{"mode":"sleepy"}"#),
        ("sleep", r#"{"until":"soon"}"#),
        ("sleep", "{}"),
    ] {
        let answer = world.post(&format!("/api/agents/main/{path}"), body).await;
        assert!(answer.status.is_client_error(), "{path} {body}: {}", answer.body);
    }
    // A destroyed agent cannot be changed.
    change("destroy", "", "lifecycle", "destroyed").await;
}

#[tokio::test]
async fn an_agent_that_nothing_tried_to_wake_is_reported_as_such() {
    let world = TestServer::new();
    let answer = world
        .get("/api/agents/main/why-not?since=2020-01-01T00:00:00Z")
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let told: wakeful_api::WhyNot = serde_json::from_str(&answer.body).expect("an answer");
    assert_eq!(
        told.summary,
        "nothing has tried to wake it since it was created, 1970-01-01T00:00:00.000Z; it has no subscription and no \
         schedule, so only your messages wake it"
    );
    assert_eq!(told.since, "2020-01-01T00:00:00.000Z");
    let bad = world.get("/api/agents/main/why-not?since=soon").await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST, "{}", bad.body);
    let unknown = world.get(&format!("/api/runs/{}/why", "0".repeat(64))).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{}", unknown.body);
}

#[tokio::test]
async fn guesses_at_trigger_urls_are_limited_like_wrong_tokens() {
    let world = TestServer::limited(wakeful_server::RateLimits {
        failures_per_minute: 3,
        client_per_minute: 0,
        messages_per_minute: 0,
        outside_per_minute: 0,
        outside_turns_per_minute: 0,
    });
    let path = |id: u32| format!("/api/external-triggers/trigger-{id}/{}", "0".repeat(64));
    for id in 0..3 {
        let answer = world.send(posted(&path(id), "x", &[])).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    }
    let full = world.send(posted(&path(4), "x", &[])).await;
    assert_eq!(full.status, StatusCode::TOO_MANY_REQUESTS, "{}", full.body);
    assert!(full.headers.contains_key("retry-after"));
    // Only the delivery itself needs no authentication.
    let secret = request(Method::POST, "/api/agents/main/external-trigger", &[]);
    assert_eq!(world.send(secret).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_starts_while_its_queue_is_cleared_is_not_cancelled() {
    let world = TestServer::new();
    world
        .post("/api/agents/main/messages", r#"{"text":"hello"}"#)
        .await;
    let (store, storage) = (&world.services.store, &world.services.storage);
    let held = storage.hold_writes().await;
    let mut clearing = Box::pin(world.post("/api/agents/main/queue/clear", ""));
    for _ in 0..100 {
        assert!(futures_poll(clearing.as_mut()).await.is_none(), "it waits");
        tokio::task::yield_now().await;
    }
    storage.hold_no_more_writes();
    let started = store.write(|tx| {
        let message = tx.queue(&main(), 1)?.remove(0).message;
        tx.dequeue(&message.agent_id, &message.run_key)?;
        tx.create_run(&RunRow {
            run_key: message.run_key,
            agent_id: message.agent_id,
            thread_id: message.thread_id,
            machine: String::new(),
            machine_version: 2,
            version: 1,
            state: String::new(),
            status: RunStatus::Open,
            started_at: message.admitted_at,
            ended_at: None,
            suspension: None,
            fault: None,
        })?;
        Ok(message.run_key)
    });
    let run = started.await.expect("started");
    drop(held);
    assert_eq!(clearing.await.status, 200);
    let requested = store.read(move |view| view.cancel_requested(&run)).await;
    assert!(!requested.expect("read"));
}

#[tokio::test]
async fn a_queue_longer_than_a_page_is_cleared() {
    let world = TestServer::new();
    for turn in 0..501 {
        let sent = world.services.open.runtime.messages.send(IncomingMessage {
            thread: None,
            agent: main(),
            turn: TurnId::parse(&turn.to_string()).expect("a turn"),
            text: "hello".to_owned(),
            attachments: Vec::new(),
            run_options: RunOptions::default(),
            priority: Priority::default(),
        });
        sent.await.expect("queued");
    }
    let answer = world.post("/api/agents/main/queue/clear", "").await;
    let status: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(status["pending"], 0);
}
