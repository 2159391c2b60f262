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

#[tokio::test]
async fn new_terms_apply_to_changes_that_are_not_dispatched_yet() {
    let home = Home::new();
    let (daemon, beside) = (home.serve(), home.serve());
    daemon.subscribed("coach", on("TASK")).await;
    let id = RuleId::parse("of-coach").expect("a name");
    let note = async |text: &str| {
        let mutation = Mutation::CreateNote {
            text: text.into(),
            task: None,
        };
        home.write(mutation).await;
    };
    let terms = |token: &str, say: &str| SubscriptionEdit {
        any: Some(vec![token.to_owned()]),
        message: Some(say.to_owned()),
        ..SubscriptionEdit::default()
    };
    home.add_task("first", None).await;
    daemon.settle().await;
    assert_eq!(daemon.runs("coach").await.len(), 1);
    note("undispatched").await;
    let edited = daemon.alert.edit(id.clone(), terms("NOTE", "read it")).await;
    assert_eq!(edited.expect("edited").spec.any, ["NOTE"]);
    daemon.settle().await;
    assert_eq!(daemon.runs("coach").await.len(), 2);
    home.add_task("one", None).await;
    daemon.settle().await;
    assert_eq!(
        daemon.runs("coach").await.len(),
        2,
        "a task does not match any more"
    );
    // Another process changes the terms, and this one rebuilds its index.
    beside
        .alert
        .edit(id.clone(), terms("TASK", "plan it"))
        .await
        .expect("edited");
    beside
        .alert
        .edit(id.clone(), terms("TASK", "plan it"))
        .await
        .expect("the same terms");
    beside.kill();
    note("two").await;
    home.add_task("three", None).await;
    daemon.settle().await;
    assert_eq!(daemon.runs("coach").await.len(), 3);
    let heard = home.oracle.heard().concat();
    assert!(heard.contains("read it") && heard.contains("plan it"), "{heard}");
    assert_eq!(
        super::paused::deeds(&daemon, "coach").await,
        ["made", "edited", "edited"]
    );
    let bad = daemon.alert.edit(id, terms("=x", "")).await;
    assert!(
        matches!(bad, Err(EngineError::Subscription(SubscriptionError::Terms(_)))),
        "{bad:?}"
    );
}
