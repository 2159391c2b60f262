//! Subscriptions over HTTP.

use axum::http::Method;
use serde_json::{Value, json};
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::subscription::Terms;
use wakeful_core::time::Millis;
use wakeful_runtime::EngineError;
use wakeful_runtime::desk::Asked;
use wakeful_runtime::desk::alert::{AlertDesk, NewSubscription, Subscribing};
use wakeful_runtime::rows::SubscriptionRow;

use super::world::{BEARER, World, request};

/// A desk with one subscription.
pub(super) struct OneSubscription;

fn gym() -> SubscriptionRow {
    SubscriptionRow {
        subscription_id: RuleId::parse("gym").expect("a name"),
        agent_id: AgentId::parse("main").expect("a name"),
        terms: Terms {
            any: vec!["TASK".into()],
            ..Terms::default()
        },
        journal_seq: 0,
        last_due: None,
        created_at: Millis(0),
        is_active: true,
        version: 1,
    }
}

/// The one there is, or that there is none of this name.
async fn only(subscription: RuleId, is_active: bool) -> Result<SubscriptionRow, EngineError> {
    match subscription.as_str() {
        "gym" => Ok(SubscriptionRow { is_active, ..gym() }),
        _ => Err(Subscribing::Unknown(subscription).into()),
    }
}

impl AlertDesk for OneSubscription {
    fn subscribe(&self, new: NewSubscription) -> Asked<'_, SubscriptionRow> {
        Box::pin(async move {
            new.terms.check().map_err(Subscribing::from)?;
            match new.subscription_id {
                Some(id) if id.as_str() == "taken" => Err(Subscribing::Exists(id).into()),
                Some(_) | None => Ok(gym()),
            }
        })
    }

    fn unsubscribe(&self, subscription: RuleId) -> Asked<'_, SubscriptionRow> {
        Box::pin(only(subscription, true))
    }

    fn pause_subscription(&self, subscription: RuleId) -> Asked<'_, SubscriptionRow> {
        Box::pin(only(subscription, false))
    }

    fn resume_subscription(&self, subscription: RuleId) -> Asked<'_, SubscriptionRow> {
        Box::pin(only(subscription, true))
    }

    fn subscriptions(
        &self,
        _agent: Option<AgentId>,
        _after: Option<RuleId>,
        _limit: u32,
    ) -> Asked<'_, Vec<SubscriptionRow>> {
        Box::pin(async { Ok(vec![gym()]) })
    }
}

#[tokio::test]
async fn each_refusal_of_a_subscription_has_the_status_that_says_what_to_do() {
    let world = World::new();
    let cases = [
        (json!({"agent_id": "main", "any": ["TASK"]}), (200, "")),
        (json!({"agent_id": "main"}), (422, "tokens_missing")),
        (json!({"agent_id": "main", "any": ["=x"]}), (422, "bad_token")),
        (
            json!({"agent_id": "main", "any": ["TASK"], "predicate": {"field": 7}}),
            (422, "bad_predicate"),
        ),
        (
            json!({"agent_id": "main", "any": ["TASK"], "cooldown_ms": 604_800_001}),
            (422, "bad_cooldown"),
        ),
        (
            json!({"agent_id": "main", "any": ["TASK"], "subscription_id": "taken"}),
            (409, "subscription_exists"),
        ),
        (
            json!({"agent_id": "main", "any": ["TASK"], "subscription_id": "A b"}),
            (422, "bad_id"),
        ),
        (json!({"agent_id": "Main", "any": ["TASK"]}), (400, "bad_id")),
    ];
    for (body, (status, code)) in cases {
        let answer = world.post("/api/subscriptions", &body.to_string()).await;
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!(answer.status.as_u16(), status, "{body} {told}");
        assert_eq!(told["error"]["code"].as_str().unwrap_or_default(), code, "{body}");
    }
}

#[tokio::test]
async fn subscriptions_are_listed_and_taken_away() {
    let world = World::new();
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
    assert_eq!(remove("No").await.status.as_u16(), 422);
}

#[tokio::test]
async fn a_subscription_is_put_aside_and_taken_up_again() {
    let world = World::new();
    let turned = async |path: &str| {
        let answer = world.post(&format!("/api/subscriptions/{path}"), "").await;
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        (answer.status.as_u16(), told["is_active"].clone())
    };
    assert_eq!(turned("gym/pause").await, (200, json!(false)));
    assert_eq!(turned("gym/resume").await, (200, json!(true)));
    assert_eq!(turned("other/pause").await, (404, Value::Null));
    assert_eq!(turned("No/resume").await, (422, Value::Null));
}
