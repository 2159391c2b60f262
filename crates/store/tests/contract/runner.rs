//! Runners: registration and removal.

use wakeful_core::id::RunnerId;
use wakeful_store::rows::Runner;
use wakeful_store::{HEARTBEAT_MS, LEASE_MS, StoreError};

use super::head::{claim, held};
use crate::fixture::{everywhere, sample};

// Conformance: A-216
#[test]
fn runners_are_listed_by_name_as_they_registered() {
    everywhere(async |store| {
        let expected = vec![
            sample::runner("one"),
            Runner {
                pid: 1,
                ..sample::runner("two")
            },
        ];
        let runners = expected.clone();
        let registered = store.write(move |tx| {
            runners
                .iter()
                .rev()
                .try_for_each(|runner| tx.register_runner(runner))
        });
        registered.await.expect("registered");
        assert_eq!(store.read(|view| view.runners()).await.expect("read"), expected);
    });
}

#[test]
fn registering_again_replaces_the_earlier_registration() {
    everywhere(async |store| {
        store
            .write(|tx| tx.register_runner(&sample::runner("one")))
            .await
            .expect("registered");
        let again = Runner {
            pid: 2,
            pid_started: 3,
            machine: "elsewhere".into(),
            ..sample::runner("one")
        };
        let put = again.clone();
        store
            .write(move |tx| tx.register_runner(&put))
            .await
            .expect("registered");
        assert_eq!(store.read(|view| view.runners()).await.expect("read"), [again]);
    });
}

#[test]
fn removing_a_runner_releases_its_claims_and_invalidates_its_fence() {
    everywhere(async |store| {
        let fence = held(&store).await;
        store
            .write(|tx| tx.remove_dead_runner(&RunnerId::new("one")))
            .await
            .expect("buried");
        assert_eq!(store.read(|view| view.runners()).await.expect("read"), []);
        let late = store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await;
        assert!(matches!(late, Err(StoreError::FenceLost(_))), "{late:?}");
        assert!(claim(&store, "two").await.is_some());
    });
}

#[test]
fn removing_one_runner_does_not_affect_the_others() {
    everywhere(async |store| {
        let fence = held(&store).await;
        store
            .write(|tx| tx.register_runner(&sample::runner("two")))
            .await
            .expect("registered");
        store
            .write(|tx| tx.remove_dead_runner(&RunnerId::new("two")))
            .await
            .expect("buried");
        assert_eq!(
            store.read(|view| view.runners()).await.expect("read"),
            [sample::runner("one")]
        );
        store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await
            .expect("still held");
    });
}

// Conformance: A-215
#[test]
fn a_runner_is_dead_after_three_missed_heartbeats() {
    assert_eq!((HEARTBEAT_MS, LEASE_MS), (5_000, 3 * HEARTBEAT_MS));
}
