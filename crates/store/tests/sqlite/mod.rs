//! Tests specific to a file: opening, sharing, corruption, disk space.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use wakeful_core::time::Millis;
use wakeful_store::rows::PackedBody;
use wakeful_store::{INLINE_BYTES_MAX, SqliteOptions, Store, StoreError};

use crate::contract::blob::{keep, noise};
use crate::fixture::{HOST, block_on, files, open_file, sample};

mod audit_entry;
mod budget;
mod care;
mod draft;
mod journal;
mod schedule;
mod still;

fn failed(home: &Path) -> StoreError {
    match Store::open_sqlite(&files(home), HOST) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

fn failed_to_read(home: &Path) -> StoreError {
    match Store::open_sqlite_read_only(&files(home)) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// Opens a connection without the store.
fn behind(home: &Path) -> Connection {
    Connection::open(files(home).path).expect("a second connection")
}

fn pragma<T: rusqlite::types::FromSql>(home: &Path, name: &str) -> T {
    behind(home)
        .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        .expect("a pragma")
}

#[test]
fn commits_are_there_after_reopening() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        drop(store);
        // Another host id: a database keeps the one with which it was created.
        let store = Store::open_sqlite(&files(home.path()), "other").expect("opens");
        let (agents, incarnation) = store
            .read(|view| Ok((view.agents(true)?, view.incarnation()?)))
            .await
            .expect("read");
        assert_eq!(agents, [sample::agent("main")]);
        assert_eq!(incarnation.as_str(), "host.1");
    });
}

#[test]
fn a_file_has_its_application_id_and_uses_a_write_ahead_log() {
    let home = tempfile::tempdir().expect("a folder");
    drop(open_file(home.path()));
    assert_eq!(pragma::<i64>(home.path(), "application_id"), 0x574b_4641);
    assert_eq!(
        pragma::<i64>(home.path(), "user_version"),
        i64::from(wakeful_store::SCHEMA)
    );
    assert_eq!(pragma::<String>(home.path(), "journal_mode"), "wal");
}

#[test]
fn a_closed_store_leaves_a_single_file() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        store.read(|view| view.agents(true)).await.expect("read");
        store.close().await.expect("closed");
    });
    let names = fs::read_dir(home.path())
        .expect("a listing")
        .map(|entry| entry.expect("an entry").file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["agent.sqlite"]);
}

#[test]
fn a_file_that_is_not_a_database_is_corrupt() {
    let home = tempfile::tempdir().expect("a folder");
    fs::write(files(home.path()).path, noise(8_192)).expect("written");
    assert!(matches!(failed(home.path()), StoreError::Corrupt(_)));
    assert!(matches!(failed_to_read(home.path()), StoreError::Corrupt(_)));
}

#[test]
fn a_damaged_page_is_reported_as_corruption() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        store.close().await.expect("closed");
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'agent'";
        let page: u16 = behind(home.path())
            .query_row(root, [], |row| row.get(0))
            .expect("a page");
        let (path, page) = (files(home.path()).path, usize::from(page));
        let mut bytes = fs::read(&path).expect("read");
        bytes[(page - 1) * 4_096..page * 4_096].fill(0x5a);
        fs::write(&path, bytes).expect("written");
        let read = open_file(home.path()).read(|view| view.agents(true)).await;
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    });
}

#[test]
fn a_database_of_another_program_is_left_unchanged() {
    for theirs in [
        "CREATE TABLE recipe (name TEXT)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 7",
    ] {
        let home = tempfile::tempdir().expect("a folder");
        behind(home.path()).execute_batch(theirs).expect("made");
        let before = fs::read(files(home.path()).path).expect("read");
        assert!(matches!(failed(home.path()), StoreError::Foreign), "{theirs}");
        assert!(
            matches!(failed_to_read(home.path()), StoreError::Foreign),
            "{theirs}"
        );
        assert_eq!(
            fs::read(files(home.path()).path).expect("read"),
            before,
            "{theirs}"
        );
    }
}

#[test]
fn a_newer_schema_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    drop(open_file(home.path()));
    behind(home.path())
        .execute_batch("PRAGMA user_version = 99")
        .expect("set");
    assert!(matches!(
        failed(home.path()),
        StoreError::NewerSchema {
            found: 99,
            known: wakeful_store::SCHEMA
        }
    ));
    assert!(matches!(
        failed_to_read(home.path()),
        StoreError::NewerSchema {
            found: 99,
            known: wakeful_store::SCHEMA
        }
    ));
}

#[test]
fn a_file_too_short_for_a_header_is_corrupt_and_left_unchanged() {
    let home = tempfile::tempdir().expect("a folder");
    drop(open_file(home.path()));
    let path = files(home.path()).path;
    let whole = fs::read(&path).expect("a database");
    for bytes in [0, 1, 16, 99] {
        let cut = &whole[..bytes];
        fs::write(&path, cut).expect("cut off");
        assert!(matches!(failed(home.path()), StoreError::Corrupt(_)), "{bytes}");
        assert!(
            matches!(failed_to_read(home.path()), StoreError::Corrupt(_)),
            "{bytes}"
        );
        assert_eq!(fs::read(&path).expect("the file"), cut, "{bytes}");
    }
}

#[test]
fn a_database_without_any_table_is_corrupt() {
    let home = tempfile::tempdir().expect("a folder");
    let path = files(home.path()).path;
    let empty = rusqlite::Connection::open(&path).expect("a database");
    empty.execute_batch("VACUUM").expect("written");
    drop(empty);
    assert!(fs::metadata(&path).expect("a file").len() > 100);
    assert!(matches!(failed(home.path()), StoreError::Corrupt(_)));
}

#[test]
fn a_reader_of_a_home_without_a_database_creates_none() {
    let home = tempfile::tempdir().expect("a folder");
    assert!(matches!(failed_to_read(home.path()), StoreError::Absent));
    assert_eq!(fs::read_dir(home.path()).expect("a listing").count(), 0);
}

#[test]
fn a_home_that_cannot_be_written_is_refused_with_the_reason() {
    // The kernel's own file system refuses new files even to root, which permissions do not stop.
    let nowhere = SqliteOptions::new("/sys/agent.sqlite", "/sys/blobs");
    let Err(error) = Store::open_sqlite(&nowhere, HOST) else {
        panic!("it was opened")
    };
    assert!(matches!(error, StoreError::ReadOnly), "{error:?}");
    let missing = SqliteOptions::new("/nonexistent/agent.sqlite", "/nonexistent/blobs");
    let Err(error) = Store::open_sqlite(&missing, HOST) else {
        panic!("it was opened")
    };
    assert!(matches!(error, StoreError::Device(_)), "{error:?}");
}

#[test]
fn a_reader_reads_while_another_process_writes_and_cannot_write() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        let other = behind(home.path());
        other
            .execute_batch("BEGIN IMMEDIATE; DELETE FROM agent")
            .expect("writing");
        let reader = Store::open_sqlite_read_only(&files(home.path())).expect("opens while another writes");
        let agents = async || reader.read(|view| view.agents(true)).await.expect("read").len();
        assert_eq!(agents().await, 1, "what is not committed is not seen");
        other.execute_batch("COMMIT").expect("committed");
        assert_eq!(agents().await, 0, "the next reading sees it");
        let written = reader.write(|tx| tx.create_agent(&sample::agent("late"))).await;
        assert!(matches!(written, Err(StoreError::ReadOnly)), "{written:?}");
        let packed = reader.pack(wakeful_core::blob::Blob::new(vec![1])).await;
        assert!(matches!(packed, Err(StoreError::ReadOnly)), "{packed:?}");
    });
}

#[test]
fn a_reader_sees_commits_of_a_killed_process() {
    let (home, crashed) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        // A copy of an open database and its log is what a killed process leaves.
        for name in ["agent.sqlite", "agent.sqlite-wal"] {
            fs::copy(home.path().join(name), crashed.path().join(name)).expect("copied");
        }
        let reader = Store::open_sqlite_read_only(&files(crashed.path())).expect("opens");
        assert_eq!(
            reader.read(|view| view.agents(true)).await.expect("read"),
            [sample::agent("main")]
        );
        let store = open_file(crashed.path());
        assert_eq!(
            store.read(|view| view.agents(true)).await.expect("read"),
            [sample::agent("main")]
        );
    });
}

#[test]
fn a_short_write_by_another_process_is_waited_for() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let other = behind(home.path());
        other.execute_batch("BEGIN IMMEDIATE").expect("writing");
        let written = tokio::spawn({
            let store = store.clone();
            async move {
                store
                    .write(|tx| tx.request_cancel(&sample::run_key("run"), Millis(1)))
                    .await
            }
        });
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(50));
        other.execute_batch("COMMIT").expect("committed");
        written.await.expect("a task").expect("written after the other");
    });
}

#[test]
fn a_long_write_by_another_process_is_reported_as_the_cause() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let options = SqliteOptions {
            busy_timeout_ms: 20,
            ..files(home.path())
        };
        let store = Store::open_sqlite(&options, HOST).expect("opens");
        let other = behind(home.path());
        other.execute_batch("BEGIN IMMEDIATE").expect("writing");
        let written = store.write(|tx| tx.create_agent(&sample::agent("main"))).await;
        let Err(StoreError::Backend(source)) = written else {
            panic!("{written:?}")
        };
        assert!(source.to_string().contains("another process"), "{source}");
        other.execute_batch("COMMIT").expect("committed");
        assert!(
            store
                .write(|tx| tx.create_agent(&sample::agent("main")))
                .await
                .expect("written")
        );
    });
}

#[test]
fn concurrent_openers_of_a_new_home_create_one_database() {
    let home = tempfile::tempdir().expect("a folder");
    let hosts: Vec<String> = std::thread::scope(|scope| {
        let opening = (0..8).map(|number| {
            let home = home.path();
            scope.spawn(move || {
                let store = Store::open_sqlite(&files(home), &format!("host{number}")).expect("opens");
                block_on(store.read(|view| view.incarnation()))
                    .expect("read")
                    .to_string()
            })
        });
        let opening: Vec<_> = opening.collect();
        opening
            .into_iter()
            .map(|thread| thread.join().expect("a thread"))
            .collect()
    });
    assert!(hosts.iter().all(|host| *host == hosts[0]), "{hosts:?}");
}

#[test]
fn only_a_large_blob_is_stored_in_a_file() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let small = keep(&store, noise(INLINE_BYTES_MAX)).await;
        assert!(matches!(small.body, PackedBody::Raw(_)));
        assert!(!home.path().join("blobs").exists());
        let large = keep(&store, noise(INLINE_BYTES_MAX + 1)).await;
        assert!(matches!(large.body, PackedBody::File(_)));
        let name = large.hash.to_string();
        let folder = home.path().join("blobs").join(&name[..2]);
        let files: Vec<_> = fs::read_dir(folder)
            .expect("a listing")
            .map(|e| e.expect("an entry").file_name())
            .collect();
        assert_eq!(files, [name.as_str()], "the file and no draft beside it");
        let squeezed = keep(&store, vec![7; 16 * INLINE_BYTES_MAX]).await;
        assert!(
            matches!(squeezed.body, PackedBody::Lz4(_)),
            "what counts is the packed size"
        );
    });
}

#[test]
fn an_existing_blob_file_is_not_rewritten() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let large = keep(&store, noise(100_000)).await;
        let name = large.hash.to_string();
        let path = home.path().join("blobs").join(&name[..2]).join(&name);
        let written = fs::metadata(&path).expect("there").modified().expect("a time");
        assert_eq!(keep(&store, noise(100_000)).await, large);
        assert_eq!(
            fs::metadata(&path).expect("there").modified().expect("a time"),
            written
        );
    });
}

#[test]
fn a_changed_truncated_or_missing_blob_file_is_corruption() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let hash = keep(&store, noise(100_000)).await.hash;
        let name = hash.to_string();
        let path = home.path().join("blobs").join(&name[..2]).join(&name);
        let whole = fs::read(&path).expect("read");
        let mut flipped = whole.clone();
        flipped[50_000] ^= 1;
        let mut lying = whole.clone();
        lying[0] ^= 1;
        for bytes in [flipped, lying, whole[..50_000].to_vec(), Vec::new()] {
            fs::write(&path, bytes).expect("written");
            let read = store.read(move |view| view.blob(&hash)).await;
            assert!(
                matches!(read, Err(StoreError::Corrupt(_))),
                "{:?}",
                read.map(|_| "some bytes")
            );
        }
        fs::remove_file(&path).expect("removed");
        let read = store.read(move |view| view.blob(&hash)).await;
        assert!(
            matches!(read, Err(StoreError::Corrupt(_))),
            "a row names what is not there"
        );
        fs::write(&path, whole).expect("written");
        assert_eq!(
            store.read(move |view| view.blob(&hash)).await.expect("read"),
            Some(noise(100_000))
        );
    });
}

#[test]
fn an_erased_payload_leaves_the_event_in_place() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let mut head = wakeful_core::report::LogHead {
            next_seq: 1,
            chain_hash: wakeful_core::key::Digest::ZERO,
            incarnation: wakeful_core::id::Incarnation::new("host.1"),
        };
        let event = sample::event(&mut head, "main", 1);
        let hash = event.hash;
        store
            .write(move |tx| tx.append_event(&sample::agent_id("main"), &event))
            .await
            .expect("appended");
        let other = behind(home.path());
        assert!(
            other.execute_batch("UPDATE event SET payload = NULL").is_err(),
            "payload and salt go together"
        );
        other
            .execute_batch("UPDATE event SET payload = NULL, salt = NULL")
            .expect("erased");
        let events = store
            .read(|view| view.events(&sample::agent_id("main"), 0, 9))
            .await
            .expect("read");
        assert_eq!(
            (events.len(), events[0].hash, &events[0].payload),
            (1, hash, &None)
        );
    });
}

#[test]
fn an_unexpected_value_is_reported_with_its_column() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        behind(home.path())
            .execute_batch("PRAGMA ignore_check_constraints = 1; UPDATE agent SET lifecycle = 'retired'")
            .expect("changed");
        let read = store.read(|view| view.agents(true)).await;
        assert!(
            matches!(read, Err(StoreError::Malformed("agent.lifecycle"))),
            "{read:?}"
        );
    });
}
