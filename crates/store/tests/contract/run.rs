//! Runs, their logs, their transcripts, and requests to cancel them.

use wakeful_core::id::ThreadId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::Message;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_store::rows::{RunFilter, RunLogRow, RunRow, RunState, TranscriptEntryRow};
use wakeful_store::{ROWS_MAX, Store, StoreError};

use crate::fixture::{everywhere, sample};

async fn create(store: &Store, runs: Vec<RunRow>) {
    let created = store.write(move |tx| runs.iter().try_for_each(|run| tx.create_run(run)));
    created.await.expect("created");
}

#[test]
fn a_run_is_read_back_unchanged() {
    everywhere(async |store| {
        let run = RunRow {
            state: r#"{"text":"\u0000 – ü"}"#.into(),
            ..sample::run("run")
        };
        create(&store, vec![run.clone()]).await;
        let read = store
            .read(|view| view.run(&sample::run_key("run")))
            .await
            .expect("read");
        assert_eq!(read, Some(run));
        assert_eq!(
            store
                .read(|view| view.run(&sample::run_key("none")))
                .await
                .expect("read"),
            None
        );
    });
}

// Conformance: L-075, L-210
#[test]
fn a_run_key_is_unique() {
    everywhere(async |store| {
        create(&store, vec![sample::run("run")]).await;
        let second = store.write(|tx| tx.create_run(&sample::run("run"))).await;
        assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
    });
}

#[test]
fn a_state_is_replaced_only_at_the_version_it_was_read_at() {
    everywhere(async |store| {
        create(&store, vec![sample::run("run")]).await;
        let next = RunRow {
            version: 1,
            state: r#"{"n":1}"#.into(),
            ..sample::run("run")
        };
        let put = next.clone();
        store
            .write(move |tx| tx.put_state(&put, 0))
            .await
            .expect("moved on");
        let late = RunRow {
            version: 1,
            state: "late".into(),
            ..sample::run("run")
        };
        let late = store.write(move |tx| tx.put_state(&late, 0)).await;
        assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
        let read = store
            .read(|view| view.run(&sample::run_key("run")))
            .await
            .expect("read");
        assert_eq!(read, Some(next.clone()));
        let ended = RunRow {
            version: 2,
            status: RunStatus::Completed,
            ended_at: Some(Millis(5_000)),
            ..next
        };
        let put = ended.clone();
        store.write(move |tx| tx.put_state(&put, 1)).await.expect("ended");
        assert_eq!(
            store
                .read(|view| view.run(&sample::run_key("run")))
                .await
                .expect("read"),
            Some(ended)
        );
    });
}

#[test]
fn storing_the_state_of_an_unknown_run_is_a_conflict() {
    everywhere(async |store| {
        let put = store.write(|tx| tx.put_state(&sample::run("run"), 0)).await;
        assert!(matches!(put, Err(StoreError::Conflict)), "{put:?}");
    });
}

#[test]
fn an_ended_run_without_an_end_time_is_rejected() {
    everywhere(async |store| {
        let open_but_ended = RunRow {
            ended_at: Some(Millis(1)),
            ..sample::run("a")
        };
        assert!(
            store
                .write(move |tx| tx.create_run(&open_but_ended))
                .await
                .is_err()
        );
        let ended_but_when = RunRow {
            status: RunStatus::Failed,
            ..sample::run("b")
        };
        assert!(
            store
                .write(move |tx| tx.create_run(&ended_but_when))
                .await
                .is_err()
        );
    });
}

#[test]
fn runs_are_listed_newest_first_by_agent_and_state_within_the_limit() {
    everywhere(async |store| {
        let at = |name: &str, at: i64| RunRow {
            started_at: Millis(at),
            ..sample::run(name)
        };
        let done = |run: RunRow| RunRow {
            status: RunStatus::Completed,
            ended_at: Some(Millis(9)),
            ..run
        };
        let of = |agent: &str, run: RunRow| RunRow {
            agent_id: sample::agent_id(agent),
            ..run
        };
        let runs = vec![
            at("a", 1),
            done(at("b", 3)),
            of("other", at("c", 2)),
            of("other", done(at("d", 4))),
        ];
        create(&store, runs).await;
        let list = async |agent: Option<&str>, open_only, limit| {
            let filter = RunFilter {
                until: None,
                agent_id: agent.map(sample::agent_id),
                state: if open_only { RunState::Open } else { RunState::Any },
                limit,
                before: None,
            };
            let runs = store.read(move |view| view.runs(&filter)).await.expect("read");
            let name = |run: &RunRow| {
                ["a", "b", "c", "d"]
                    .into_iter()
                    .find(|n| sample::run_key(n) == run.run_key)
            };
            runs.iter()
                .map(|run| name(run).expect("known"))
                .collect::<String>()
        };
        assert_eq!(list(None, false, 10).await, "dbca");
        assert_eq!(list(None, false, 2).await, "db");
        assert_eq!(list(None, true, 10).await, "ca");
        assert_eq!(list(Some("main"), false, 10).await, "ba");
        assert_eq!(list(Some("other"), true, 10).await, "c");
        assert_eq!(list(Some("nobody"), false, 10).await, "");
        assert_eq!(list(None, false, 0).await, "");
        assert_eq!(list(None, false, u32::MAX).await, "dbca");
    });
}

#[test]
fn a_prefix_finds_its_runs_and_several_show_that_it_is_ambiguous() {
    everywhere(async |store| {
        let key = |first: u8, second: u8| {
            let mut bytes = [0x55; 32];
            [bytes[0], bytes[1]] = [first, second];
            RunKey(Digest::from_bytes(bytes))
        };
        let keys = [
            key(0x00, 0x00),
            key(0xab, 0x10),
            key(0xab, 0x1f),
            key(0xab, 0x20),
            key(0xff, 0xff),
        ];
        let admitted = store.write(move |tx| {
            let message = |run_key| Message {
                run_key,
                ..sample::message("turn", "body")
            };
            keys.map(message)
                .iter()
                .try_for_each(|message| tx.admit_message(message).map(drop))
        });
        admitted.await.expect("admitted");
        let find = async |prefix: &'static str| {
            store
                .read(|view| view.runs_with_prefix(prefix))
                .await
                .expect("read")
        };
        assert_eq!(find("0").await, [keys[0]]);
        assert_eq!(find("ab2").await, [keys[3]]);
        assert_eq!(find("AB2").await, [keys[3]]);
        assert_eq!(find("ab").await, [keys[1], keys[2], keys[3]]);
        assert_eq!(find("ab1").await, [keys[1], keys[2]]);
        assert_eq!(find("f").await, [keys[4]]);
        assert_eq!(find("").await, keys);
        let (whole, longer) = (keys[3].to_string(), format!("{}0", keys[3]));
        assert_eq!(
            store
                .read(move |view| view.runs_with_prefix(&whole))
                .await
                .expect("read"),
            [keys[3]]
        );
        assert_eq!(
            store
                .read(move |view| view.runs_with_prefix(&longer))
                .await
                .expect("read"),
            []
        );
        for nonsense in ["g", "ab%", "ä", " ", "--"] {
            assert_eq!(find(nonsense).await, [], "{nonsense:?}");
        }
    });
}

#[test]
fn a_run_log_is_read_in_order_and_in_pages() {
    everywhere(async |store| {
        let rows: Vec<RunLogRow> = (1..=5).map(|ordinal| sample::input("run", ordinal)).collect();
        let put = rows.clone();
        let appended = store.write(move |tx| {
            tx.append_run_log(&sample::input("other", 1))?;
            put.iter().try_for_each(|row| tx.append_run_log(row))
        });
        appended.await.expect("appended");
        let page = async |after, limit| {
            store
                .read(move |view| view.run_log(&sample::run_key("run"), after, limit))
                .await
                .expect("read")
        };
        assert_eq!(page(0, 100).await, rows);
        assert_eq!(page(2, 2).await, rows[2..4]);
        assert_eq!(page(5, 2).await, []);
        assert_eq!(page(0, 0).await, []);
    });
}

#[test]
fn an_ordinal_of_a_run_log_is_written_once() {
    everywhere(async |store| {
        store
            .write(|tx| tx.append_run_log(&sample::input("run", 1)))
            .await
            .expect("appended");
        let other = RunLogRow {
            body: b"other".to_vec(),
            ..sample::input("run", 1)
        };
        let second = store.write(move |tx| tx.append_run_log(&other)).await;
        assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
        let kept = store
            .read(|view| view.run_log(&sample::run_key("run"), 0, 9))
            .await
            .expect("read");
        assert_eq!(kept, [sample::input("run", 1)]);
    });
}

#[test]
fn no_listing_is_longer_than_the_bound() {
    everywhere(async |store| {
        let most = i64::from(ROWS_MAX);
        let filled = store
            .write(move |tx| (1..=most + 1).try_for_each(|n| tx.append_run_log(&sample::input("run", n))));
        filled.await.expect("appended");
        let rows = store
            .read(|view| view.run_log(&sample::run_key("run"), 0, u32::MAX))
            .await
            .expect("read");
        assert_eq!(rows.len(), ROWS_MAX as usize);
    });
}

// Conformance: L-099, A-62
#[test]
fn the_newest_entries_of_a_thread_are_returned_oldest_first() {
    everywhere(async |store| {
        let entries: Vec<TranscriptEntryRow> =
            (1..=5).map(|n| sample::entry("run", &n.to_string())).collect();
        let put = entries.clone();
        let appended = store.write(move |tx| {
            tx.append_entry(&ThreadId::new("other"), &sample::entry("run", "other"))?;
            put.iter()
                .try_for_each(|entry| tx.append_entry(&sample::thread(), entry))
        });
        appended.await.expect("appended");
        let newest = async |n| {
            store
                .read(move |view| view.entries(&sample::thread(), n))
                .await
                .expect("read")
        };
        assert_eq!(newest(100).await, entries);
        assert_eq!(newest(2).await, entries[3..]);
        assert_eq!(newest(0).await, []);
        let none = store
            .read(|view| view.entries(&ThreadId::new("none"), 9))
            .await
            .expect("read");
        assert_eq!(none, []);
    });
}

#[test]
fn the_threads_between_two_ids_are_found_one_by_one() {
    everywhere(async |store| {
        let appended = store.write(|tx| {
            for thread in [
                "a:session:x",
                "a:session:b",
                "a:run:1",
                "a-b:session:c",
                "b:session:a",
            ] {
                tx.append_entry(&ThreadId::new(thread), &sample::entry("run", "text"))?;
                tx.append_entry(&ThreadId::new(thread), &sample::entry("run", "more"))?;
            }
            Ok(())
        });
        appended.await.expect("appended");
        let next = async |after: &str| {
            let (after, end) = (ThreadId::new(after), ThreadId::new("a:session;"));
            let found = store.read(move |view| view.thread_after(&after, &end)).await;
            found.expect("read").map(|thread| thread.to_string())
        };
        assert_eq!(next("a:session:").await.as_deref(), Some("a:session:b"));
        assert_eq!(next("a:session:b").await.as_deref(), Some("a:session:x"));
        assert_eq!(next("a:session:x").await, None);
    });
}

#[test]
fn the_cancellation_of_a_run_can_be_requested_more_than_once() {
    everywhere(async |store| {
        let asked = async || {
            store
                .read(|view| view.cancel_requested(&sample::run_key("run")))
                .await
                .expect("read")
        };
        assert!(!asked().await);
        for at in [1, 2] {
            let asking = store.write(move |tx| tx.request_cancel(&sample::run_key("run"), Millis(at)));
            asking.await.expect("asked");
            assert!(asked().await);
        }
        assert!(
            !store
                .read(|view| view.cancel_requested(&sample::run_key("b")))
                .await
                .expect("read")
        );
    });
}
