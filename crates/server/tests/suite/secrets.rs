//! Secrets over the API.

use axum::http::Method;
use serde_json::{Value, json};

use super::test_server::{Answer, BEARER, TestServer, request};

fn body(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).expect("JSON")
}

async fn delete(server: &TestServer) -> Answer {
    server
        .send(request(Method::DELETE, "/api/secrets/A_TOKEN", &[BEARER]))
        .await
}

#[tokio::test]
async fn a_secret_is_listed_with_its_agents_and_removed_from_them() {
    let server = TestServer::new();
    let stored = server
        .post("/api/secrets/A_TOKEN", r#"{"value": "s3cret-value"}"#)
        .await;
    assert_eq!(stored.status, 200, "{stored:?}");
    let allow = json!({"sandbox": {"allowed_secrets": ["A_TOKEN"]}});
    let allowed = server.post("/api/agents/main/settings", &allow.to_string()).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
    let listed = server.get("/api/secrets").await;
    assert_eq!(body(&listed)[0]["agents"], json!(["main"]));
    assert!(!format!("{stored:?}{listed:?}").contains("s3cret-value"));
    let removed = delete(&server).await;
    assert_eq!(removed.status, 200, "{removed:?}");
    assert_eq!(body(&removed)["agents"], json!(["main"]));
    let settings = body(&server.get("/api/agents/main/settings").await);
    let list = settings["sandbox"]["allowed_secrets"].as_array();
    assert!(list.is_none_or(Vec::is_empty), "{settings}");
    assert_eq!(body(&server.get("/api/secrets").await), json!([]));
    assert_eq!(delete(&server).await.status, 404);
}

#[tokio::test]
async fn a_bad_secret_names_what_is_wrong_and_is_not_repeated() {
    let server = TestServer::new();
    for (name, value, status, code) in [
        ("A_TOKEN", "password", 409, "bad_secret"),
        ("PATH", "s3cret-value", 409, "bad_secret_name"),
        ("a-token", "s3cret-value", 400, "bad_id"),
        ("A_TOKEN", "short", 409, "bad_secret"),
    ] {
        let refused = server
            .post(
                &format!("/api/secrets/{name}"),
                &json!({"value": value}).to_string(),
            )
            .await;
        assert_eq!(
            (refused.status.as_u16(), &body(&refused)["error"]["code"]),
            (status, &json!(code)),
            "{refused:?}"
        );
        assert!(!refused.body.contains(value), "{refused:?}");
    }
    let bad = json!({"sandbox": {"allowed_secrets": ["LD_PRELOAD"]}});
    let refused = server.post("/api/agents/main/settings", &bad.to_string()).await;
    assert!(refused.body.contains("sandbox.allowed_secrets"), "{refused:?}");
}
