//! Subscriptions over HTTP.

use super::test_server::{BEARER, TestServer, request};
use axum::http::Method;
use serde_json::{Value, json};

/// A server whose agent has one subscription.
async fn with_subscription() -> TestServer {
    let world = TestServer::new();
    let body = json!({"agent_id": "main", "any": ["TASK"], "subscription_id": "gym"});
    let made = world.post("/api/subscriptions", &body.to_string()).await;
    assert_eq!(made.status, 200, "{}", made.body);
    world
}

#[tokio::test]
async fn each_subscription_error_has_its_own_status() {
    let world = with_subscription().await;
    let cases = [
        (json!({"agent_id": "main", "any": ["TASK"]}), (200, "")),
        (json!({"agent_id": "main"}), (409, "tokens_missing")),
        (json!({"agent_id": "main", "any": ["=x"]}), (409, "bad_api_token")),
        (
            json!({"agent_id": "main", "any": ["TASK"], "predicate": {"field": 7}}),
            (409, "bad_predicate"),
        ),
        (
            json!({"agent_id": "main", "any": ["TASK"], "cooldown_ms": 604_800_001}),
            (409, "bad_cooldown"),
        ),
        (
            json!({"agent_id": "main", "any": ["NOTE"], "subscription_id": "gym"}),
            (409, "subscription_exists"),
        ),
        (
            json!({"agent_id": "main", "any": ["TASK"], "subscription_id": "A b"}),
            (400, "bad_field"),
        ),
        (json!({"agent_id": "Main", "any": ["TASK"]}), (400, "bad_field")),
    ];
    for (body, (status, code)) in cases {
        let answer = world.post("/api/subscriptions", &body.to_string()).await;
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!(answer.status.as_u16(), status, "{body} {told}");
        assert_eq!(told["error"]["code"].as_str().unwrap_or_default(), code, "{body}");
    }
}

#[tokio::test]
async fn subscriptions_are_listed_and_removed() {
    let world = with_subscription().await;
    let list = world.get("/api/subscriptions?limit=5").await.body;
    assert!(
        list.contains(r#""subscription_id":"gym""#) && !list.contains("next_after"),
        "{list}"
    );
    let remove = async |name: &str| {
        let path = format!("/api/subscriptions/{name}");
        world.send(request(Method::DELETE, &path, &[BEARER])).await
    };
    assert_eq!(remove("gym").await.status.as_u16(), 200);
    assert_eq!(remove("other").await.status.as_u16(), 404);
    assert_eq!(remove("No").await.status.as_u16(), 400);
}

#[tokio::test]
async fn new_terms_replace_the_given_ones_and_are_checked() {
    let world = with_subscription().await;
    let edit = async |name: &str, body: Value| {
        let answer = world
            .post(&format!("/api/subscriptions/{name}"), &body.to_string())
            .await;
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        (answer.status.as_u16(), told)
    };
    let guard = json!({"field": "depth", "op": "eq", "value": 0});
    let first = json!({"message": "Plan.", "cooldown_ms": 5, "guard": guard, "predicate": guard});
    let (status, told) = edit("gym", first).await;
    assert_eq!(
        (status, &told["any"], &told["message"]),
        (200, &json!(["TASK"]), &json!("Plan."))
    );
    let second = json!({"any": ["NOET"], "clear_guard": true, "clear_predicate": true});
    let (_, told) = edit("gym", second).await;
    assert_eq!(
        (
            &told["any"],
            &told["guard"],
            &told["predicate"],
            &told["cooldown_ms"]
        ),
        (&json!(["NOET"]), &Value::Null, &Value::Null, &json!(5))
    );
    assert!(
        told["warnings"][0].as_str().is_some_and(|it| it.contains("NOTE")),
        "{told}"
    );
    for (name, body, status, code) in [
        ("other", json!({"message": "x"}), 404, "subscription_unknown"),
        ("gym", json!({"any": []}), 409, "tokens_missing"),
        (
            "gym",
            json!({"guard": guard, "clear_guard": true}),
            400,
            "bad_field",
        ),
        ("gym", json!({"agent_id": "main"}), 400, "bad_field"),
    ] {
        let (found, told) = edit(name, body.clone()).await;
        assert_eq!(
            (found, told["error"]["code"].as_str()),
            (status, Some(code)),
            "{body}"
        );
    }
    let list = world.get("/api/subscriptions").await.body;
    assert!(list.contains(r#""any":["NOET"]"#), "{list}");
}

#[tokio::test]
async fn a_subscription_is_paused_and_resumed() {
    let world = with_subscription().await;
    let turned = async |path: &str| {
        let answer = world.post(&format!("/api/subscriptions/{path}"), "").await;
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        (answer.status.as_u16(), told["is_active"].clone())
    };
    assert_eq!(turned("gym/pause").await, (200, json!(false)));
    assert_eq!(turned("gym/resume").await, (200, json!(true)));
    assert_eq!(turned("other/pause").await, (404, Value::Null));
    assert_eq!(turned("No/resume").await, (400, Value::Null));
}
