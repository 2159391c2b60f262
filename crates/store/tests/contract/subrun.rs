//! Sub-runs and their parents.

use wakeful_core::id::{AgentId, TraceId};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::message::{Message, NewMessage, ParentRun};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_store::Store;

use crate::fixture::{everywhere, sample};

async fn agent(store: &Store, name: &'static str) {
    let made = store.write(move |tx| tx.create_agent(&sample::agent(name))).await;
    assert!(made.expect("written"));
}

/// A message that a run of `main` sent to an agent with this operation.
fn sent(to: &str, by: RunKey, operation: &str) -> Message {
    let parent = ParentRun {
        run_key: by,
        agent_id: sample::agent_id("main"),
        operation_id: OperationId(Digest::of(operation.as_bytes())),
        depth: 3,
    };
    let new = NewMessage {
        agent_id: sample::agent_id(to),
        body: sample::message("t", "hello").body,
        admitted_at: Millis(7),
    };
    let chain = TraceId::of(&parent.run_key.0);
    Message::from_run(new, parent, chain)
}

async fn awaited(store: &Store, agent: &'static str) -> Vec<AgentId> {
    let found = store
        .read(move |view| view.agents_awaited_by(&sample::agent_id(agent)))
        .await;
    found.expect("read")
}

// Conformance: L-179
#[test]
fn a_message_is_read_back_with_its_parent_run() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let by = RunKey(Digest::of(b"parent"));
        let (one, two) = (sent("b", by, "1"), sent("c", by, "2"));
        let (put, other) = (one.clone(), two.clone());
        let plain = sample::message("t", "hello");
        let posted = store.write(move |tx| {
            tx.admit_message(&plain)?;
            tx.admit_message(&put)?;
            tx.admit_message(&other)
        });
        posted.await.expect("written");
        let key = one.run_key;
        let read = store.read(move |view| Ok((view.message(&key)?, view.children(&by)?)));
        let (message, children) = read.await.expect("read");
        assert_eq!(message.as_ref(), Some(&one));
        let mut expected = [(one.run_key, one.agent_id), (two.run_key, two.agent_id)];
        expected.sort();
        let children: Vec<_> = children
            .into_iter()
            .map(|child| (child.run_key, child.agent_id))
            .collect();
        assert_eq!(children, expected);
    });
}

#[test]
fn an_agent_waits_for_another_until_the_sub_run_ends() {
    everywhere(async |store| {
        agent(&store, "main").await;
        agent(&store, "b").await;
        let row = sample::run("t");
        let message = sent("b", row.run_key, "1");
        let (parent, put) = (row.clone(), message.clone());
        let begun = store.write(move |tx| {
            tx.lock_sub_run_starts()?;
            tx.create_run(&parent)?;
            tx.admit_message(&put)
        });
        begun.await.expect("written");
        assert_eq!(
            awaited(&store, "main").await,
            [],
            "called off, or not in line yet"
        );
        let put = message.clone();
        let queued = store.write(move |tx| tx.enqueue(&put, 1, None));
        queued.await.expect("written");
        assert_eq!(awaited(&store, "main").await, [sample::agent_id("b")]);
        assert_eq!(awaited(&store, "b").await, []);
        let put = message.clone();
        let child = wakeful_store::rows::RunRow {
            run_key: message.run_key,
            agent_id: sample::agent_id("b"),
            ..sample::run("u")
        };
        let started = store.write(move |tx| {
            tx.dequeue(&put.agent_id, &put.run_key)?;
            tx.create_run(&child)
        });
        started.await.expect("written");
        assert_eq!(awaited(&store, "main").await, [sample::agent_id("b")]);
        for (status, waits) in [(RunStatus::Quarantined, true), (RunStatus::Abandoned, false)] {
            let run = message.run_key;
            let moved = store.write(move |tx| tx.set_run_status(&run, status, None, Millis(9)));
            assert!(moved.await.expect("written"));
            assert_eq!(!awaited(&store, "main").await.is_empty(), waits, "{status}");
        }
    });
}
