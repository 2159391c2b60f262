//! Policies over the API.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::test_server::{Answer, TestServer};

const EXPLAIN: &str = "/api/agents/main/policy/explain";

fn body(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).expect("JSON")
}

#[tokio::test]
async fn the_policy_of_an_agent_has_the_mode_of_its_settings() {
    let server = TestServer::new();
    let set = server
        .post(
            "/api/agents/main/settings",
            r#"{"permission_mode": "restrictive"}"#,
        )
        .await;
    assert_eq!(set.status, 200, "{set:?}");
    let policy = server.get("/api/agents/main/policy").await;
    assert_eq!(
        (policy.status, &body(&policy)["mode"]),
        (StatusCode::OK, &json!("restrictive"))
    );
    assert_eq!(server.get("/api/agents/nobody/policy").await.status, 404);
}

#[tokio::test]
async fn a_call_is_explained_under_the_rules_of_its_run() {
    let server = TestServer::new();
    let call = json!({"tool": "ExecCommand", "input": {"cmd": "ls"}, "is_read_only": true});
    let explained = server.post(EXPLAIN, &call.to_string()).await;
    assert_eq!(
        (explained.status, &body(&explained)["reason"]),
        (StatusCode::OK, &json!("read-only"))
    );
    for tool in [String::new(), "x".repeat(65)] {
        let refused = server.post(EXPLAIN, &json!({"tool": tool}).to_string()).await;
        assert_eq!(
            (refused.status, &body(&refused)["error"]["code"]),
            (StatusCode::BAD_REQUEST, &json!("bad_field"))
        );
    }
}
