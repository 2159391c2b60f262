//! Subscriptions that are removed or added while a daemon runs.

use super::*;

#[tokio::test]
async fn a_removed_subscription_wakes_no_agent_and_its_name_is_free() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    let again = |terms: SubscriptionSpec| NewSubscription {
        subscription_id: Some(RuleId::parse("of-coach").expect("a name")),
        agent_id: agent("coach"),
        spec: terms,
    };
    daemon
        .alert
        .add(again(on("TASK")))
        .await
        .expect("the same one is the same one");
    let other = daemon.alert.add(again(on("NOTE"))).await;
    assert!(
        matches!(
            other,
            Err(EngineError::Subscription(SubscriptionError::Exists(_)))
        ),
        "{other:?}"
    );
    let id = RuleId::parse("of-coach").expect("a name");
    daemon.alert.remove(id.clone()).await.expect("gone");
    let twice = daemon.alert.remove(id).await;
    assert!(
        matches!(
            twice,
            Err(EngineError::Subscription(SubscriptionError::Unknown(_)))
        ),
        "{twice:?}"
    );
    home.add_task("one", None).await;
    daemon.settle().await;
    assert!(daemon.runs("coach").await.is_empty());
    daemon.alert.add(again(on("NOTE"))).await.expect("free again");
    let alert = home.store.read(|view| view.outbox_cursor()).await.expect("a row");
    assert_eq!((alert.version, alert.subscriptions), (3, 1));
}

#[tokio::test]
async fn subscriptions_added_by_another_process_take_effect() {
    let home = Home::new();
    let (daemon, beside) = (home.serve(), home.serve());
    daemon.subscribed("coach", on("TASK")).await;
    home.add_task("one", None).await;
    daemon.settle().await;
    let stranger = NewSubscription {
        subscription_id: None,
        agent_id: agent("coach"),
        spec: on("NOTE"),
    };
    beside.alert.add(stranger).await.expect("a subscription");
    beside.kill();
    home.write(Mutation::CreateNote {
        text: "a note".into(),
        task: None,
    })
    .await;
    daemon.settle().await;
    assert_eq!(daemon.runs("coach").await.len(), 2);
}
