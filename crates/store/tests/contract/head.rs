//! Heads: which runner may write, and where the next event is appended.

use wakeful_core::id::{Incarnation, RunnerId};
use wakeful_core::key::Digest;
use wakeful_core::report::LogHead;
use wakeful_store::rows::{Claim, Fence};
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, sample};

/// Creates the agent `main`, claimed by runner `one`, and returns its fence.
pub(crate) async fn held(store: &Store) -> Fence {
    store
        .write(|tx| tx.create_agent(&sample::agent("main")))
        .await
        .expect("written");
    claim(store, "one").await.expect("claimed")
}

/// Registers a runner and claims `main` for it; returns `None` if another runner holds it.
pub(crate) async fn claim(store: &Store, name: &'static str) -> Option<Fence> {
    let claim = store.write(move |tx| {
        tx.register_runner(&sample::runner(name))?;
        tx.claim_head(&sample::agent_id("main"), &RunnerId::new(name))
    });
    match claim.await.expect("asked") {
        Claim::Won(fence) => Some(fence),
        Claim::Held { .. } => None,
    }
}

#[test]
fn the_log_of_a_new_agent_starts_with_event_one() {
    everywhere(async |store| {
        let fence = held(&store).await;
        let head = store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await;
        let first = LogHead {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: Incarnation::new("host.1"),
        };
        assert_eq!(head.expect("locked"), first);
    });
}

#[test]
fn each_claim_has_its_own_fence() {
    everywhere(async |store| {
        let first = held(&store).await;
        let second = claim(&store, "one").await.expect("the holder may claim again");
        assert!(second.0 > first.0);
    });
}

#[test]
fn an_older_fence_cannot_lock_the_head() {
    everywhere(async |store| {
        let old = held(&store).await;
        let new = claim(&store, "one").await.expect("claimed");
        let late = store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), old))
            .await;
        assert!(
            matches!(&late, Err(StoreError::FenceLost(agent)) if agent.as_str() == "main"),
            "{late:?}"
        );
        store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), new))
            .await
            .expect("locked");
    });
}

#[test]
fn an_advanced_head_is_stored() {
    everywhere(async |store| {
        let fence = held(&store).await;
        let main = sample::agent_id("main");
        let moved = store.write(move |tx| {
            let mut head = tx.lock_head(&main, fence)?;
            let event = sample::event(&mut head, "main", 1);
            tx.append_event(&main, &event)?;
            tx.put_head(&main, &head)?;
            Ok(head)
        });
        let moved = moved.await.expect("moved");
        assert_eq!(moved.next_seq, 2);
        let read = store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await
            .expect("locked");
        assert_eq!(read, moved);
    });
}

#[test]
fn a_head_never_moves_back() {
    everywhere(async |store| {
        let fence = held(&store).await;
        let main = sample::agent_id("main");
        let put = store.write(move |tx| {
            let head = tx.lock_head(&main, fence)?;
            tx.put_head(
                &main,
                &LogHead {
                    next_seq: 9,
                    ..head.clone()
                },
            )?;
            tx.put_head(&main, &head)
        });
        let put = put.await;
        assert!(matches!(put, Err(StoreError::Conflict)), "{put:?}");
    });
}

#[test]
fn only_the_current_fence_can_release_a_claim() {
    everywhere(async |store| {
        let old = held(&store).await;
        let new = claim(&store, "one").await.expect("claimed");
        store
            .write(move |tx| tx.release_head(&sample::agent_id("main"), old))
            .await
            .expect("no error");
        // Releasing a lost claim changes nothing, so the newer fence still works.
        store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), new))
            .await
            .expect("locked");
        store
            .write(move |tx| tx.release_head(&sample::agent_id("main"), new))
            .await
            .expect("given back");
        assert!(claim(&store, "two").await.is_some(), "the claim is released");
    });
}

#[test]
fn claiming_an_unknown_agent_is_an_error() {
    everywhere(async |store| {
        let claim = store
            .write(|tx| tx.claim_head(&sample::agent_id("main"), &RunnerId::new("one")))
            .await;
        assert!(matches!(claim, Err(StoreError::Malformed(_))), "{claim:?}");
    });
}
