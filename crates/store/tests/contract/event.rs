//! The event table.

use wakeful_core::id::{Incarnation, PolicyVersion};
use wakeful_core::key::Digest;
use wakeful_core::report::{Event, LogHead};
use wakeful_store::rows::EventRow;
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, sample};

fn head() -> LogHead {
    LogHead {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: Incarnation::new("host.1"),
    }
}

async fn append(store: &Store, agent: &'static str, events: Vec<Event>) {
    let agent = sample::agent_id(agent);
    let appended = store.write(move |tx| events.iter().try_for_each(|event| tx.append_event(&agent, event)));
    appended.await.expect("appended");
}

fn stored(event: &Event) -> EventRow {
    let sealed = event.sealed.clone();
    EventRow {
        seq: event.seq,
        run_key: sealed.run_key,
        kind: sealed.kind.as_str().into(),
        at: sealed.at,
        hash: event.hash,
        payload_hash: sealed.payload_hash,
        policy_version: sealed
            .policy_version
            .map(|version| version.to_string())
            .unwrap_or_default(),
        payload: Some((sealed.payload, sealed.salt)),
    }
}

#[test]
fn events_are_read_back_in_order_and_in_pages() {
    everywhere(async |store| {
        let mut head = head();
        let mut events: Vec<Event> = (1..=5).map(|n| sample::event(&mut head, "main", n)).collect();
        events[1].sealed.policy_version = Some(PolicyVersion::new("v7"));
        events[2].sealed.run_key = None;
        append(&store, "main", events.clone()).await;
        let mut other = self::head();
        append(&store, "other", vec![sample::event(&mut other, "other", 1)]).await;
        let page = async |after, limit| {
            store
                .read(move |view| view.events(&sample::agent_id("main"), after, limit))
                .await
                .expect("read")
        };
        let expected: Vec<EventRow> = events.iter().map(stored).collect();
        assert_eq!(page(0, 100).await, expected);
        assert_eq!(page(1, 2).await, expected[1..3]);
        assert_eq!(page(5, 9).await, []);
        assert_eq!(page(u64::MAX, 9).await, []);
        assert_eq!(page(0, 0).await, []);
        let before = async |before, limit| {
            store
                .read(move |view| view.events_before(&sample::agent_id("main"), before, limit))
                .await
                .expect("read")
        };
        assert_eq!(before(u64::MAX, 100).await, expected);
        assert_eq!(before(4, 2).await, expected[1..3]);
        assert_eq!(before(1, 9).await, []);
    });
}

// Conformance: H-210
#[test]
fn a_sequence_number_is_written_once() {
    everywhere(async |store| {
        append(&store, "main", vec![sample::event(&mut head(), "main", 1)]).await;
        let other = sample::event(&mut head(), "main", 2);
        let second = store
            .write(move |tx| tx.append_event(&sample::agent_id("main"), &other))
            .await;
        assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
    });
}
