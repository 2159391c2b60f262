//! Secrets in requests are replaced before anything is stored, and the caller learns of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use wakeful_core::redact::Redactor;

use super::test_server::{TestServer, posted};

const SECRET: &str = "s3cret/value+1";

fn server_with_secret() -> TestServer {
    let world = TestServer::new();
    let secrets = BTreeMap::from([("A_TOKEN".to_owned(), SECRET.to_owned())]);
    *world.told.redactor.lock().expect("a redactor") = Arc::new(Redactor::new(&secrets));
    world
}

async fn stored(world: &TestServer) -> String {
    let queue = world.get("/api/agents/main/queue").await.body;
    let events = world.get("/api/agents/main/events").await.body;
    format!("{queue}{events}")
}

#[tokio::test]
async fn a_typed_message_is_stored_without_secrets_and_says_so() {
    let world = server_with_secret();
    let body = json!({"text": format!("use {SECRET} now"), "key": "k1"}).to_string();
    let answer = world.post("/api/agents/main/messages", &body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.header("wakeful-redacted"), "1");
    let accepted: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(accepted["redacted"], 1);
    let stored = stored(&world).await;
    assert!(
        stored.contains("[secret A_TOKEN]") && !stored.contains(SECRET),
        "{stored}"
    );
    let again = world.post("/api/agents/main/messages", &body).await;
    assert!(again.body.contains("duplicate"), "the same message: {again:?}");
    let plain = world
        .post("/api/agents/main/messages", r#"{"text":"ordinary words"}"#)
        .await;
    assert!(!plain.headers.contains_key("wakeful-redacted"), "{plain:?}");
}

#[tokio::test]
async fn every_body_that_is_stored_is_redacted() {
    let world = server_with_secret();
    for (path, body) in [
        ("/api/brake", json!({"reason": format!("stop, {SECRET} leaked")})),
        ("/api/brake/release", json!({})),
        (
            "/api/agents/main/settings",
            json!({"description": format!("knows {SECRET}")}),
        ),
        (
            "/api/schedules",
            json!({
                "agent_id": "main", "name": "daily", "pattern": {"kind": "interval", "every_ms": 3_600_000},
                "message": format!("use {SECRET}"), "text": format!("use {SECRET}"),
            }),
        ),
    ] {
        let answer = world.post(path, &body.to_string()).await;
        assert!(!answer.body.contains(SECRET), "{path}: {answer:?}");
    }
    for path in [
        "/api/agents/main/settings",
        "/api/agents/main/events",
        "/api/schedules",
        "/api/brake",
    ] {
        let seen = world.get(path).await;
        assert!(!seen.body.contains(SECRET), "{path}: {seen:?}");
    }
    let settings = world.get("/api/agents/main/settings").await.body;
    assert!(settings.contains("knows [secret A_TOKEN]"), "{settings}");
}

#[tokio::test]
async fn a_delivery_is_stored_without_secrets() {
    let world = server_with_secret();
    let shown = world.post("/api/agents/main/external-trigger", "").await;
    let shown: Value = serde_json::from_str(&shown.body).expect("JSON");
    let path = shown["trigger_path"].as_str().expect("a path");
    let headers = [
        ("content-type", "text/s3cret%2Fvalue%2B1"),
        ("x-correlation-id", SECRET),
        ("x-delivery-id", SECRET),
    ];
    for body in [
        r#"{"token": "s3cret\/val\u0075e+1"}"#.to_owned(),
        format!("token={SECRET}"),
    ] {
        let answer = world.send(posted(path, &body, &headers)).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    let stored = stored(&world).await;
    assert!(stored.contains("[secret A_TOKEN]"), "{stored}");
    for part in [SECRET, "s3cret", "val\\u0075e"] {
        assert!(!stored.contains(part), "{part}: {stored}");
    }
}
