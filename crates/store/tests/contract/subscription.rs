//! Subscriptions, the cursor of the journal's outbox, and agent notices.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::notice::AgentNotice;
use wakeful_core::run::RunStatus;
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::time::Millis;
use wakeful_store::rows::{AgentOutboxRow, OutboxCursor, SubscribeOutcome, SubscriptionKey, SubscriptionRow};
use wakeful_store::{Store, StoreError};

use crate::fixture::everywhere;

fn rule(name: &str) -> RuleId {
    RuleId::parse(name).expect("a name")
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

fn row(name: &str, of: &str, token: &str) -> SubscriptionRow {
    SubscriptionRow {
        subscription_id: rule(name),
        agent_id: agent(of),
        spec: SubscriptionSpec {
            any: vec![token.to_owned()],
            ..SubscriptionSpec::default()
        },
        journal_seq: 7,
        last_due: None,
        created_at: Millis(5),
        is_active: true,
        version: 0,
    }
}

async fn put(store: &Store, row: SubscriptionRow) -> SubscribeOutcome {
    let put = store.write(move |tx| tx.put_subscription(&row, 2, 3)).await;
    put.expect("written")
}

#[test]
fn subscriptions_are_bounded_and_each_change_has_a_version() {
    everywhere(async |store| {
        for (subscription, expected) in [
            (row("a", "main", "TASK"), SubscribeOutcome::New(1)),
            (row("a", "main", "TASK"), SubscribeOutcome::Same),
            (row("a", "main", "NOTE"), SubscribeOutcome::Differs),
            (row("b", "main", "TASK"), SubscribeOutcome::New(2)),
            (row("c", "main", "TASK"), SubscribeOutcome::AgentFull),
            (row("c", "other", "TASK"), SubscribeOutcome::New(3)),
            (row("d", "third", "TASK"), SubscribeOutcome::Full),
            (row("a", "main", "TASK"), SubscribeOutcome::Same),
        ] {
            assert_eq!(put(&store, subscription).await, expected);
        }
        let listed = store.read(|view| {
            let all = view.subscriptions(None, Some(&rule("a")), 10)?;
            let of_main = view.subscriptions(Some(&agent("main")), None, 10)?;
            Ok((all, of_main, view.outbox_cursor()?))
        });
        let (all, of_main, alert) = listed.await.expect("rows");
        let names = |rows: &[SubscriptionRow]| -> Vec<String> {
            rows.iter().map(|row| row.subscription_id.to_string()).collect()
        };
        assert_eq!(
            (names(&all), names(&of_main)),
            (vec!["b".into(), "c".into()], vec!["a".into(), "b".into()])
        );
        assert_eq!((alert.version, alert.subscriptions), (3, 3));
        let dropped = store.write(|tx| {
            Ok((
                tx.delete_subscription(&rule("b"))?,
                tx.delete_subscription(&rule("b"))?,
            ))
        });
        assert_eq!(dropped.await.expect("written"), (Some(4), None));
        let due = store.write(|tx| {
            tx.set_last_due(&rule("a"), Millis(99))?;
            tx.subscription(&rule("a"))
        });
        let kept = due.await.expect("written").expect("there");
        assert_eq!(
            kept,
            SubscriptionRow {
                last_due: Some(Millis(99)),
                version: 1,
                ..row("a", "main", "TASK")
            }
        );
    });
}

#[test]
fn the_cursor_advances_only_if_it_and_the_subscriptions_are_unchanged() {
    everywhere(async |store| {
        let seen = store.read(|view| view.outbox_cursor()).await.expect("a row");
        let within = OutboxCursor {
            seq: 4,
            done: Some(SubscriptionKey {
                agent_id: agent("main"),
                subscription_id: rule("a"),
            }),
        };
        let moving = |seen: &wakeful_store::rows::OutboxCursorRow, next: &OutboxCursor| {
            let (seen, next) = (seen.clone(), next.clone());
            store.write(move |tx| tx.advance_outbox_cursor(&seen, &next))
        };
        moving(&seen, &within).await.expect("moved");
        let twice = moving(&seen, &within).await;
        assert!(matches!(twice, Err(StoreError::Conflict)), "{twice:?}");
        let now = store.read(|view| view.outbox_cursor()).await.expect("a row");
        assert_eq!(now.cursor, within);
        assert_eq!(
            put(&store, row("a", "main", "TASK")).await,
            SubscribeOutcome::New(1)
        );
        let stale = moving(&now, &OutboxCursor { seq: 4, done: None }).await;
        assert!(matches!(stale, Err(StoreError::Conflict)), "{stale:?}");
        let fresh = store.read(|view| view.outbox_cursor()).await.expect("a row");
        moving(&fresh, &OutboxCursor { seq: 4, done: None })
            .await
            .expect("moved");
    });
}

#[test]
fn agent_notices_are_stored_only_for_subscribers_until_dispatched() {
    everywhere(async |store| {
        let what = AgentNotice::run_ended(
            &agent("writer"),
            &RunKey(Digest::of(b"run")),
            RunStatus::Completed,
        );
        let telling = AgentOutboxRow::new(agent("writer"), 3, what, Millis(8));
        let tell = || {
            let row = telling.clone();
            store.write(move |tx| tx.append_agent_notice(&row))
        };
        assert_eq!(
            put(&store, row("a", "main", "TASK")).await,
            SubscribeOutcome::New(1)
        );
        assert!(
            !tell().await.expect("written"),
            "no subscription matches agent notices"
        );
        assert_eq!(
            put(&store, row("b", "main", "RUN")).await,
            SubscribeOutcome::New(2)
        );
        assert!(tell().await.expect("written"));
        let kept = store.read(|view| view.agent_outbox(10)).await.expect("rows");
        let telling = AgentOutboxRow {
            version: 2,
            ..telling
        };
        assert_eq!(
            kept,
            std::slice::from_ref(&telling),
            "under the version that was found"
        );
        let place = SubscriptionKey {
            agent_id: agent("main"),
            subscription_id: rule("b"),
        };
        let seen_to = |seen: &AgentOutboxRow, next: Option<SubscriptionKey>| {
            let seen = seen.clone();
            store.write(move |tx| tx.advance_agent_notice(&seen, next.as_ref()))
        };
        seen_to(&telling, Some(place.clone())).await.expect("noted");
        let stale = seen_to(&telling, None).await;
        assert!(matches!(stale, Err(StoreError::Conflict)), "{stale:?}");
        let within = AgentOutboxRow {
            done: Some(place),
            ..telling.clone()
        };
        seen_to(&within, None).await.expect("taken away");
        assert!(
            store
                .read(|view| view.agent_outbox(10))
                .await
                .expect("rows")
                .is_empty()
        );
    });
}

#[test]
fn new_terms_are_stored_and_keep_what_a_subscription_may_match() {
    everywhere(async |store| {
        let first = row("a", "main", "TASK");
        put(&store, first.clone()).await;
        let change = |name: &'static str, token: &'static str| {
            store.write(move |tx| {
                tx.lock_subscriptions()?;
                tx.set_subscription_spec(&row(name, "main", token))
            })
        };
        assert_eq!(change("a", "RUN").await.expect("written"), Some(2));
        assert_eq!(change("unknown", "RUN").await.expect("written"), None);
        let kept = store
            .read(|view| view.subscription(&rule("a")))
            .await
            .expect("read");
        let expected = SubscriptionRow {
            spec: row("a", "main", "RUN").spec,
            version: 1,
            ..first
        };
        assert_eq!(kept, Some(expected));
        let cursor = store.read(|view| view.outbox_cursor()).await.expect("a row");
        assert_eq!((cursor.version, cursor.subscriptions), (2, 1));
        // Only the new terms match agent notices.
        let ended = AgentNotice::run_ended(&agent("main"), &RunKey(Digest::of(b"run")), RunStatus::Completed);
        let notice = AgentOutboxRow::new(agent("main"), 3, ended, Millis(8));
        let appended = store.write(move |tx| tx.append_agent_notice(&notice));
        assert!(appended.await.expect("written"));
    });
}

#[test]
fn a_subscription_is_paused_and_resumed_with_its_own_version() {
    everywhere(async |store| {
        assert_eq!(
            put(&store, row("a", "main", "TASK")).await,
            SubscribeOutcome::New(1)
        );
        assert_eq!(
            put(&store, row("b", "main", "TASK")).await,
            SubscribeOutcome::New(2)
        );
        let turned = |name: &'static str, is_active: bool, journal_seq: u64| {
            store.write(move |tx| {
                tx.lock_subscriptions()?;
                let Some(row) = tx.subscription(&rule(name))? else {
                    return tx.set_active(&row(name, "main", "TASK"));
                };
                tx.set_active(&SubscriptionRow {
                    is_active,
                    journal_seq,
                    ..row
                })
            })
        };
        let kept = || store.read(|view| view.subscription(&rule("a")));
        assert_eq!(turned("a", false, 7).await.expect("written"), Some(3));
        let aside = kept().await.expect("read").expect("there");
        assert_eq!((aside.is_active, aside.journal_seq, aside.version), (false, 7, 1));
        assert_eq!(turned("a", true, 30).await.expect("written"), Some(4));
        let back = kept().await.expect("read").expect("there");
        assert_eq!((back.is_active, back.journal_seq, back.version), (true, 30, 4));
        assert_eq!(turned("nobody", true, 30).await.expect("written"), None);
        let alert = store.read(|view| view.outbox_cursor()).await.expect("a row");
        assert_eq!((alert.version, alert.subscriptions), (4, 2));
        assert_eq!(
            put(&store, row("a", "main", "TASK")).await,
            SubscribeOutcome::Same,
            "its terms are the same, wherever it stands"
        );
    });
}
