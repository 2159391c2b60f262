//! Decisions and brakes over the API.

use std::task::{Context, Waker};

use serde_json::{Value, json};

use super::login::Browser;
use super::test_server::{HOST, TestServer, posted};

fn json(body: &str) -> Value {
    serde_json::from_str(body).expect("JSON")
}

#[tokio::test]
async fn a_decision_is_listed_found_by_prefix_and_answered() {
    let world = TestServer::new();
    let name = world.services.ask().inquiry.decision_id.to_string();
    let list = json(&world.get("/api/decisions").await.body);
    assert_eq!(list["decisions"][0]["decision_id"], name.as_str());
    let shown = json(&world.get(&format!("/api/decisions/{}", &name[..8])).await.body);
    assert_eq!(shown["title"], "May ExecCommand be used?");
    assert_eq!(
        (&shown["severity"], &shown["blast_radius"]),
        (&json!("high"), &json!("unknown"))
    );
    let option = &shown["options"][0];
    assert_eq!(
        (&option["id"], &option["label"]),
        (&json!("approve"), &json!("Approve"))
    );
    assert!(
        option["description"].is_string() && option.get("tradeoffs").is_none(),
        "{option}"
    );
    let path = format!("/api/decisions/{name}/answer");
    let answered = world
        .post(&path, r#"{"option":"deny","note":"no","version":1}"#)
        .await;
    let answered = json(&answered.body);
    assert_eq!(answered["status"], "answered");
    assert_eq!(answered["answer"]["channel"], "api");
    assert_eq!(answered["answer"]["note"], "no");
}

#[tokio::test]
async fn a_stored_answer_is_returned_although_later_reads_fail() {
    let world = TestServer::new();
    let path = format!("/api/decisions/{}", world.services.ask().inquiry.decision_id);
    // Only the read of the decision itself succeeds.
    world.services.storage.fail_reads_after(1);
    assert!(world.get(&path).await.status.is_server_error());
    world.services.storage.fail_reads_after(1);
    let answered = world
        .post(&format!("{path}/answer"), r#"{"option":"deny"}"#)
        .await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let answered = json(&answered.body);
    assert_eq!(answered["answer"]["option"], "deny");
    assert_eq!(answered["input"], "rm -r build");
}

#[tokio::test]
async fn a_refused_answer_has_a_code() {
    let world = TestServer::new();
    let name = world.services.ask().inquiry.decision_id.to_string();
    let path = format!("/api/decisions/{name}/answer");
    let long = format!(r#"{{"option":"deny","note":"{}"}}"#, "x".repeat(2_001));
    for (path, body, status, code) in [
        (path.as_str(), r#"{"option":"perhaps"}"#, 404, "option_unknown"),
        (&path, r#"{"option":"deny","version":7}"#, 409, "decision_changed"),
        (&path, &long, 400, "note_too_long"),
        (&path, r#"{"option":"deny","by":"me"}"#, 400, "bad_field"),
        (&path, r#"{"option":"deny","version":-1}"#, 400, "bad_field"),
        (
            "/api/decisions/0000/answer",
            r#"{"option":"deny"}"#,
            404,
            "decision_unknown",
        ),
        ("/api/decisions/xyz/answer", r#"{"option":"deny"}"#, 400, "bad_id"),
    ] {
        let answer = world.post(path, body).await;
        assert_eq!(answer.code(), (status, code.to_owned()), "{path} {body}");
        assert!(!answer.hint().is_empty());
    }
    let long = "a".repeat(65);
    for (path, status, code) in [
        ("/api/decisions?pending=maybe".to_owned(), 400, "bad_query"),
        (format!("/api/decisions/{long}"), 400, "bad_id"),
        ("/api/runs?state=odd".to_owned(), 400, "bad_query"),
        ("/api/runs?open=true".to_owned(), 400, "bad_query"),
    ] {
        assert_eq!(world.get(&path).await.code(), (status, code.to_owned()), "{path}");
    }
}

// Conformance: L-183
#[tokio::test]
async fn a_brake_is_stored_with_its_channel() {
    let world = TestServer::new();
    let by_program = world.post("/api/brake", r#"{"reason":"it runs wild"}"#).await;
    let list = json(&by_program.body);
    assert_eq!(
        (&list["is_on"], &list["brakes"][0]["channel"]),
        (&json!(true), &json!("api"))
    );
    assert_eq!(list["brakes"][0]["reason"], "it runs wild");
    assert_eq!(world.post("/api/brake/release", "{}").await.status, 200);
    let browser = Browser::enter(&world).await;
    let origin = format!("http://{HOST}");
    let headers = browser.headers(&[("origin", origin.as_str())]);
    let by_page = world
        .send(posted("/api/brake", r#"{"agent_id":"main"}"#, &headers))
        .await;
    let list = json(&by_page.body);
    assert_eq!(
        (&list["is_on"], &list["brakes"][0]["channel"]),
        (&json!(false), &json!("page"))
    );
    assert_eq!(list["brakes"][0]["agent_id"], "main");
    let long = format!(r#"{{"reason":"{}"}}"#, "x".repeat(501));
    assert_eq!(
        world.post("/api/brake", &long).await.code(),
        (400, "reason_too_long".to_owned())
    );
    let odd = world.post("/api/brake", r#"{"agent_id":"A B"}"#).await;
    assert_eq!(odd.code(), (400, "bad_field".to_owned()));
    let anybody = world.send(posted("/api/brake", "{}", &[])).await;
    assert_eq!(anybody.code(), (401, "unauthorized".to_owned()));
}

// Conformance: L-183
#[tokio::test]
async fn every_status_contains_brakes_and_pending_decisions() {
    let world = TestServer::new();
    let status = json(&world.get("/api/runtime/status").await.body);
    assert_eq!(status["brakes"], json!([]));
    assert_eq!(
        (
            &status["pending_decision_count"],
            &status["quarantined_run_count"]
        ),
        (&json!(0), &json!(0))
    );
    let agent = json(&world.get("/api/agents/main/status").await.body);
    assert_eq!(
        (&agent["is_braked"], &agent["pending_decisions"]),
        (&json!(false), &json!(0))
    );
    let metrics = world.get("/metrics").await.body;
    for line in [
        "wakeful_decisions_pending 0",
        "wakeful_brakes_active 0",
        "wakeful_runs_quarantined 0",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

/// A client that disconnects right after the commit does not prevent the notification of the write.
#[tokio::test]
async fn a_write_completes_although_the_client_disconnects() {
    let world = TestServer::new();
    let name = world.services.ask().inquiry.decision_id.to_string();
    let answer = format!("/api/decisions/{name}/answer");
    assert_eq!(world.post("/api/brake", "{}").await.status, 200);
    for (path, body) in [
        ("/api/agents/main/messages", r#"{"text":"hello"}"#),
        (answer.as_str(), r#"{"option":"deny"}"#),
        ("/api/brake/release", "{}"),
    ] {
        let mut listener = world.services.hub.listen();
        let mut asking = Box::pin(world.post(path, body));
        let looked = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(looked.is_pending(), "{path} did not wait");
        drop(asking);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(listener.try_recv().is_ok(), "{path} was not announced");
    }
}
