//! Subscriptions that are paused and resumed, and which agent notices one receives when the clock is set
//! back.

use std::sync::Arc;

use wakeful_core::id::RuleId;
use wakeful_core::notice::AgentNotice;
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::EngineError;
use wakeful_runtime::api::subscription::{NewSubscription, SubscriptionError};
use wakeful_runtime::api::{ApiContext, RuntimeApi, SubscriptionApi};
use wakeful_store::rows::AgentOutboxRow;

use super::notice_daemon::{Daemon, Home, agent, on};
use crate::service::{Salts, Ticks};

fn of(name: &str) -> RuleId {
    RuleId::parse(&format!("of-{name}")).expect("a name")
}

/// The subscription events in the agent's log, in order.
pub(super) async fn deeds(daemon: &Daemon, name: &str) -> Vec<String> {
    let events = daemon
        .api
        .events
        .after(agent(name), 0, 500)
        .await
        .expect("events");
    let payloads = events.iter().filter_map(|row| row.payload.as_ref());
    let payloads = payloads.filter_map(|(bytes, _)| serde_json::from_slice::<serde_json::Value>(bytes).ok());
    let word = |payload: &serde_json::Value, name: &str| payload.get(name)?.as_str().map(str::to_owned);
    let ours = payloads.filter(|payload| word(payload, "change").as_deref() == Some("subscription"));
    ours.filter_map(|payload| word(&payload, "state")).collect()
}

#[tokio::test]
async fn a_paused_subscription_wakes_no_agent_and_why_not_shows_misses() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    daemon.subscribed("other", on("TASK")).await;
    for _ in 0..2 {
        let paused = daemon.alert.pause(of("coach")).await;
        assert!(!paused.expect("paused").is_active, "also when it is already");
    }
    home.add_task("missed", None).await;
    daemon.settle().await;
    assert!(daemon.runs("coach").await.is_empty() && daemon.queue("coach").await.is_empty());
    assert_eq!(daemon.runs("other").await.len(), 1, "the others are woken");
    let why = daemon
        .api
        .agents
        .why_not(agent("coach"), Some(Millis(0)))
        .await
        .expect("known");
    let codes: Vec<&str> = why.refused.iter().map(|wake| wake.verdict.as_str()).collect();
    assert_eq!(codes, ["subscription_paused"]);
    // The next daemon reads it from its row.
    let daemon = daemon.kill().serve();
    home.add_task("missed as well", None).await;
    daemon.settle().await;
    assert_eq!(
        daemon.refusals("coach").await,
        [("subscription_paused".to_owned(), 2)]
    );
    let resumed = daemon.alert.resume(of("coach")).await;
    assert!(resumed.expect("resumed").is_active);
    daemon.settle().await;
    assert!(daemon.runs("coach").await.is_empty(), "nothing is made up for");
    home.add_task("seen", None).await;
    daemon.settle().await;
    assert_eq!(daemon.runs("coach").await.len(), 1);
    let heard = home.oracle.heard().concat();
    assert!(heard.contains("seen"), "{heard}");
    daemon.alert.remove(of("coach")).await.expect("gone");
    assert_eq!(
        deeds(&daemon, "coach").await,
        ["made", "paused", "resumed", "gone"]
    );
    let unknown = daemon.alert.pause(of("coach")).await;
    assert!(
        matches!(
            unknown,
            Err(EngineError::Subscription(SubscriptionError::Unknown(_)))
        ),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn changes_during_a_pause_are_not_seen_later_even_if_undispatched() {
    let home = Home::new();
    let daemon = home.serve();
    daemon
        .subscribed("coach", on("TASK agentChangedNotification"))
        .await;
    daemon.create("writer").await;
    daemon.settle().await;
    let home = daemon.kill();
    let api = api(&home);
    api.pause(of("coach")).await.expect("paused");
    home.add_task("meanwhile", None).await;
    tell(&home, 9).await;
    api.resume(of("coach")).await.expect("resumed");
    let daemon = home.serve();
    daemon.settle().await;
    assert!(daemon.runs("coach").await.is_empty());
    assert!(
        daemon.refusals("coach").await.is_empty(),
        "it is not even looked at"
    );
    tell(&home, 10).await;
    daemon.watcher.dispatch_once().await.expect("a look");
    daemon.settle().await;
    assert_eq!(daemon.runs("coach").await.len(), 1, "what comes after is");
}

#[tokio::test]
async fn a_clock_set_back_hides_no_agent_notice_from_earlier_subscriptions() {
    let home = Home::new();
    let daemon = home.serve();
    home.ticks.set(Millis(1_000_000));
    daemon.subscribed("writer", on("TASK")).await;
    let ends = SubscriptionSpec {
        all: vec!["id:writer".to_owned()],
        ..on("RUN")
    };
    daemon.subscribed("critic", ends).await;
    home.ticks.set(Millis(5));
    home.add_task("write", None).await;
    daemon.settle().await;
    assert_eq!(daemon.runs("writer").await.len(), 1);
    assert_eq!(
        daemon.runs("critic").await.len(),
        1,
        "it was notified of the end of a run"
    );
}

#[tokio::test]
async fn a_clock_set_back_shows_no_earlier_notices() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("early", on("agentChangedNotification")).await;
    for name in ["late", "writer"] {
        daemon.create(name).await;
    }
    daemon.settle().await;
    let home = daemon.kill();
    home.ticks.set(Millis(1_000_000));
    tell(&home, 9).await;
    home.ticks.set(Millis(5));
    let late = NewSubscription {
        subscription_id: Some(of("late")),
        agent_id: agent("late"),
        spec: on("agentChangedNotification"),
    };
    api(&home).add(late).await.expect("a subscription");
    let daemon = home.serve();
    daemon.settle().await;
    assert_eq!(daemon.runs("early").await.len(), 1);
    assert!(daemon.runs("late").await.is_empty() && daemon.refusals("late").await.is_empty());
}

/// The subscription API while no daemon runs.
fn api(home: &Home) -> SubscriptionApi {
    let context = ApiContext::new(
        home.store.clone(),
        Arc::<Ticks>::clone(&home.ticks),
        Arc::new(Salts),
    );
    RuntimeApi::without_service(context).subscriptions(Arc::new(home.journal.clone()), Arc::default())
}

/// Appends an agent notice of the writer that is not dispatched yet.
async fn tell(home: &Home, seq: u64) {
    let telling = AgentNotice::agent_changed(&agent("writer"));
    let row = AgentOutboxRow::new(agent("writer"), seq, telling, home.ticks.now());
    let told = home.store.write(move |tx| tx.append_agent_notice(&row)).await;
    assert!(told.expect("written"), "a subscription matches such notices");
}
