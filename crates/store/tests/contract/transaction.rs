//! Transactions: atomicity, consistent snapshots, and a store that survives errors of its callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use wakeful_core::conversation::Usage;
use wakeful_core::time::Millis;
use wakeful_store::rows::RunRow;
use wakeful_store::{Store, StoreError};

use super::head::held;
use crate::fixture::{everywhere, on_file, on_postgres, sample};

async fn names(store: &Store) -> Vec<String> {
    let agents = store.read(|view| view.agents(true)).await.expect("read");
    agents.iter().map(|agent| agent.agent_id.to_string()).collect()
}

#[test]
fn a_closure_that_fails_changes_nothing() {
    everywhere(async |store| {
        let failed = store.write(|tx| {
            tx.create_agent(&sample::agent("main"))?;
            tx.create_run(&sample::run("run"))?;
            Err::<(), _>(StoreError::Conflict)
        });
        assert!(matches!(failed.await, Err(StoreError::Conflict)));
        assert_eq!(names(&store).await, Vec::<String>::new());
        assert_eq!(
            store
                .read(|view| view.run(&sample::run_key("run")))
                .await
                .expect("read"),
            None
        );
    });
}

#[test]
fn a_closure_that_panics_changes_nothing_and_the_store_continues() {
    everywhere(async |store| {
        let panicked = store.write(|tx| -> Result<(), StoreError> {
            tx.create_agent(&sample::agent("main"))?;
            panic!("a defect of the caller");
        });
        let Err(StoreError::Backend(source)) = panicked.await else {
            panic!("it did not fail")
        };
        assert!(source.to_string().contains("a defect of the caller"), "{source}");
        let read = store
            .read(|_| -> Result<(), StoreError> { panic!("another one") })
            .await;
        assert!(matches!(read, Err(StoreError::Backend(_))), "{read:?}");
        assert_eq!(names(&store).await, Vec::<String>::new());
        assert!(
            store
                .write(|tx| tx.create_agent(&sample::agent("main")))
                .await
                .expect("written")
        );
        assert_eq!(names(&store).await, ["main"]);
    });
}

#[test]
fn a_closure_that_ignores_a_failed_statement_does_not_commit() {
    everywhere(async |store| {
        let swallowed = store.write(|tx| {
            tx.create_agent(&sample::agent("main"))?;
            // The tables reject an open run that has ended.
            let _ = tx.create_run(&RunRow {
                ended_at: Some(Millis(1)),
                ..sample::run("run")
            });
            Ok(())
        });
        assert!(matches!(swallowed.await, Err(StoreError::Backend(_))));
        assert_eq!(names(&store).await, Vec::<String>::new());
    });
}

#[test]
fn a_transaction_does_not_commit_after_a_conflict() {
    everywhere(async |store| {
        store
            .write(|tx| tx.create_run(&sample::run("run")))
            .await
            .expect("created");
        let told = store.write(|tx| {
            tx.create_run(&sample::run("run"))?;
            tx.create_agent(&sample::agent("main"))
        });
        let told = told.await;
        assert!(matches!(told, Err(StoreError::Conflict)), "{told:?}");
        let swallowed = store.write(|tx| {
            let _ = tx.create_run(&sample::run("run"));
            tx.create_agent(&sample::agent("main"))
        });
        assert!(swallowed.await.is_err());
        assert_eq!(names(&store).await, Vec::<String>::new());
    });
}

#[test]
fn a_transaction_reads_its_own_writes() {
    everywhere(async |store| {
        let seen = store.write(|tx| {
            tx.create_agent(&sample::agent("main"))?;
            tx.agent(&sample::agent_id("main"))
        });
        assert_eq!(seen.await.expect("written"), Some(sample::agent("main")));
    });
}

#[test]
fn a_transition_commits_atomically() {
    everywhere(async |store| {
        let fence = held(&store).await;
        let transition = store.write(move |tx| {
            let main = sample::agent_id("main");
            let mut head = tx.lock_head(&main, fence)?;
            let event = sample::event(&mut head, "main", 1);
            tx.admit_message(&sample::message("t1", "hello"))?;
            tx.put_wake(&sample::wake("run", "run"))?;
            tx.create_run(&sample::run("run"))?;
            tx.append_run_log(&sample::input("run", 1))?;
            tx.put_state(
                &RunRow {
                    version: 1,
                    ..sample::run("run")
                },
                0,
            )?;
            tx.put_step(&sample::step("run", "op"))?;
            tx.intend_step(&sample::operation("op"))?;
            tx.append_entry(&sample::thread(), &sample::entry("run", "text"))?;
            tx.append_event(&main, &event)?;
            tx.add_usage(&main, Usage::of(1, 1), 1)?;
            tx.put_head(&main, &head)?;
            Ok(head)
        });
        let head = transition.await.expect("committed");
        let read = store
            .write(move |tx| tx.lock_head(&sample::agent_id("main"), fence))
            .await
            .expect("locked");
        assert_eq!(read, head);
        let rows = store.read(|view| {
            let run = sample::run_key("run");
            let events = view.events(&sample::agent_id("main"), 0, 9)?.len();
            let entries = view.entries(&sample::thread(), 9)?.len();
            Ok([
                events,
                entries,
                view.run_log(&run, 0, 9)?.len(),
                view.steps(&run, 0, 9)?.len(),
            ])
        });
        assert_eq!(rows.await.expect("read"), [1, 1, 1, 1]);
    });
}

#[test]
fn a_reader_sees_one_consistent_state() {
    // Not in memory: there one thread does everything, so nothing can happen concurrently.
    on_file(reads_while_another_writes);
    on_postgres(reads_while_another_writes);
}

async fn reads_while_another_writes(store: Store) {
    held(&store).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (written, is_written) = std::sync::mpsc::channel::<()>();
    let reading = store.read(move |view| {
        let before = view.agents(true)?.len();
        let _ = begun.send(());
        let waited = is_written.recv_timeout(Duration::from_secs(20));
        assert!(waited.is_ok(), "a read does not block a write");
        Ok((before, view.agents(true)?.len()))
    });
    let writing = async {
        has_begun.await.expect("the reader is reading");
        let late = store.write(|tx| tx.create_agent(&sample::agent("late")));
        assert!(late.await.expect("written"));
        written.send(()).expect("the reader is waiting");
    };
    let (counts, ()) = tokio::join!(reading, writing);
    assert_eq!(counts.expect("read"), (1, 1));
    assert_eq!(names(&store).await, ["late", "main"]);
}

#[test]
fn sixty_four_concurrent_writers_lose_nothing() {
    const WRITERS: u64 = 64;
    const EACH: u64 = 5;
    everywhere(async |store| {
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        let runs = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (store, runs) = (store.clone(), Arc::clone(&runs));
                tokio::spawn(async move {
                    for _ in 0..EACH {
                        let runs = Arc::clone(&runs);
                        let one = Usage::of(1, 2);
                        let added = store.write(move |tx| {
                            runs.fetch_add(1, Ordering::Relaxed);
                            tx.add_usage(&sample::agent_id("main"), one, 1)
                        });
                        added.await.expect("added");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a task");
        }
        let agent = store
            .read(|view| view.agent(&sample::agent_id("main")))
            .await
            .expect("read")
            .expect("there");
        assert_eq!(agent.model_rounds, WRITERS * EACH);
        assert_eq!(agent.usage, Usage::of(WRITERS * EACH, 2 * WRITERS * EACH));
        assert_eq!(
            u64::from(runs.load(Ordering::Relaxed)),
            WRITERS * EACH,
            "nothing had to run twice"
        );
    });
}

#[test]
fn a_closed_store_refuses_calls_and_can_be_closed_again() {
    everywhere(async |store| {
        held(&store).await;
        store.close().await.expect("closed");
        let write = store.write(|tx| tx.create_agent(&sample::agent("late"))).await;
        assert!(matches!(write, Err(StoreError::Closed)), "{write:?}");
        let read = store.read(|view| view.agents(true)).await;
        assert!(matches!(read, Err(StoreError::Closed)), "{read:?}");
        store.close().await.expect("closing again is nothing");
    });
}
