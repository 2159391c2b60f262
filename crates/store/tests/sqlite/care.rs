//! Removed write-ahead logs, consistent copies, and blob files without a row.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use wakeful_core::blob::BlobHash;
use wakeful_core::time::Millis;
use wakeful_store::rows::DataSize;
use wakeful_store::{
    BUSY_MS, CheckDepth, DatabaseKind, FILE_AGE, Store, StoreError, blob_file, check_sqlite, copy_sqlite,
    identify_sqlite, keep_files,
};

use super::{failed, failed_to_read};
use crate::contract::blob::{keep, noise};
use crate::fixture::{block_on, files, open_file, sample};

fn beside(home: &Path, ending: &str) -> PathBuf {
    home.join(format!("agent.sqlite{ending}"))
}

#[test]
fn a_removed_log_stops_the_writer_before_it_acknowledges_a_commit() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("before")))
            .await
            .expect("written");
        fs::remove_file(beside(home.path(), "-wal")).expect("removed");
        for _ in 0..2 {
            let written = store.write(|tx| tx.create_agent(&sample::agent("after"))).await;
            assert!(matches!(written, Err(StoreError::LogRemoved)), "{written:?}");
        }
        // A process that has the log open still has it, and saves it when it closes normally.
        store.close().await.expect("closed");
        let agents = open_file(home.path())
            .read(|view| view.agents(true))
            .await
            .expect("read");
        assert_eq!(
            agents,
            [sample::agent("before")],
            "what was acknowledged, and nothing else"
        );
    });
}

#[test]
fn a_log_removed_between_commits_is_detected_by_the_second() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        // Another file in its place is as bad as none.
        let log = beside(home.path(), "-wal");
        fs::copy(&log, home.path().join("copy")).expect("copied");
        fs::rename(home.path().join("copy"), &log).expect("replaced");
        let written = store.write(|tx| tx.create_agent(&sample::agent("main"))).await;
        assert!(matches!(written, Err(StoreError::LogRemoved)), "{written:?}");
    });
}

#[test]
fn a_database_whose_log_was_removed_after_a_crash_is_refused() {
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
        // The files that a killed process leaves, without the log.
        for ending in ["", "-shm"] {
            fs::copy(beside(home.path(), ending), beside(crashed.path(), ending)).expect("copied");
        }
        assert!(matches!(failed(crashed.path()), StoreError::LogRemoved));
        assert!(matches!(failed_to_read(crashed.path()), StoreError::LogRemoved));
        // With its log the database is complete.
        fs::copy(beside(home.path(), "-wal"), beside(crashed.path(), "-wal")).expect("copied");
        let agents = open_file(crashed.path())
            .read(|view| view.agents(true))
            .await
            .expect("read");
        assert_eq!(agents.len(), 1);
    });
}

#[test]
fn a_copy_is_consistent_despite_concurrent_writes() {
    let (home, into) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    block_on(async {
        let store = open_file(home.path());
        let writing = tokio::spawn({
            let store = store.clone();
            async move {
                for number in 0..200 {
                    // Two rows that always exist together.
                    let (one, two) = (format!("one{number}"), format!("two{number}"));
                    let both = store.write(move |tx| {
                        tx.request_cancel(&sample::run_key(&one), Millis(number))?;
                        tx.request_cancel(&sample::run_key(&two), Millis(number))
                    });
                    both.await.expect("written");
                }
            }
        });
        for number in 0..5 {
            let to = into.path().join(number.to_string());
            let pair = [(files(home.path()).path, to.clone())];
            let copied = tokio::task::spawn_blocking(move || copy_sqlite(&pair, BUSY_MS));
            copied.await.expect("a thread").expect("copied");
            let copy = Connection::open(&to).expect("opens");
            let odd =
                "SELECT COUNT(*) FROM (SELECT at_ms FROM run_cancel GROUP BY at_ms HAVING COUNT(*) <> 2)";
            let odd: i64 = copy.query_row(odd, [], |row| row.get(0)).expect("counted");
            assert_eq!(odd, 0);
            drop(copy);
            let found = identify_sqlite(&to, DatabaseKind::Agents, BUSY_MS);
            assert_eq!(found.expect("ours").incarnation, "host.1");
            let found = identify_sqlite(&to, DatabaseKind::Journal, BUSY_MS);
            assert!(
                matches!(found, Err(StoreError::Foreign)),
                "not a journal: {found:?}"
            );
        }
        writing.await.expect("a task");
    });
    let again = copy_sqlite(&[(files(home.path()).path, into.path().join("0"))], BUSY_MS);
    assert!(again.is_err(), "a file that is there is not overwritten");
}

#[test]
fn copies_of_two_databases_are_consistent_with_each_other() {
    let (home, into) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    drop(open_file(home.path()));
    let (agents, journal) = (files(home.path()).path, home.path().join("db.sqlite"));
    let write = |path: &Path, sql: &str| {
        let database = Connection::open(path).expect("opens");
        database.busy_timeout(Duration::from_secs(10)).expect("patient");
        database.execute_batch(sql).expect("written");
    };
    write(
        &journal,
        "PRAGMA journal_mode = WAL; CREATE TABLE record (number INTEGER)",
    );
    std::thread::scope(|scope| {
        let (first, second) = (&agents, &journal);
        let writer = scope.spawn(move || {
            for number in 0..100 {
                // The intent first, then the record, as in every write that touches both databases.
                write(
                    first,
                    &format!("INSERT INTO run_cancel VALUES (x'{number:064x}', {number})"),
                );
                write(second, &format!("INSERT INTO record VALUES ({number})"));
            }
        });
        for number in 0..5 {
            let to = [
                into.path().join(format!("a{number}")),
                into.path().join(format!("j{number}")),
            ];
            copy_sqlite(
                &[(agents.clone(), to[0].clone()), (journal.clone(), to[1].clone())],
                BUSY_MS,
            )
            .expect("copied");
            let copy = Connection::open(&to[0]).expect("opens");
            copy.execute("ATTACH ?1 AS journal", [to[1].display().to_string()])
                .expect("attached");
            let lost =
                "SELECT COUNT(*) FROM journal.record WHERE number NOT IN (SELECT at_ms FROM run_cancel)";
            let lost: i64 = copy.query_row(lost, [], |row| row.get(0)).expect("counted");
            assert_eq!(lost, 0, "a record without its intent");
        }
        writer.join().expect("a thread");
    });
}

#[test]
fn a_damaged_database_is_not_copied() {
    let (home, into) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("main")))
            .await
            .expect("written");
        store.close().await.expect("closed");
    });
    let path = files(home.path()).path;
    check_sqlite(&path, CheckDepth::Whole, BUSY_MS).expect("sound");
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'agent'";
    let page: u16 = super::behind(home.path())
        .query_row(root, [], |row| row.get(0))
        .expect("a page");
    let page = usize::from(page);
    let mut bytes = fs::read(&path).expect("read");
    bytes[(page - 1) * 4_096..page * 4_096].fill(0x5a);
    fs::write(&path, bytes).expect("written");
    assert!(matches!(
        check_sqlite(&path, CheckDepth::Quick, BUSY_MS),
        Err(StoreError::Corrupt(_))
    ));
    let copied = copy_sqlite(&[(path, into.path().join("copy"))], BUSY_MS);
    assert!(matches!(copied, Err(StoreError::Corrupt(_))), "{copied:?}");
}

/// Makes a file look as if it was last touched this long ago.
fn age(path: &Path, age: Duration) {
    let file = File::options().append(true).open(path).expect("a file");
    let now = file.metadata().expect("metadata").modified().expect("a time");
    file.set_modified(now - age).expect("an older file");
}

fn file_of(home: &Path, hash: BlobHash) -> PathBuf {
    blob_file(&home.join("blobs"), &hash)
}

/// Creates three files: one with a row, one without, and one that is about to get a row. All are old except
/// the last.
async fn three_files(home: &Path, store: &Store) -> [PathBuf; 3] {
    let named = keep(store, noise(100_000)).await.hash;
    let [orphan, young] = [100_001, 100_002].map(|size| wakeful_core::blob::Blob::new(noise(size)));
    let hashes = [named, orphan.hash(), young.hash()];
    store.pack(orphan).await.expect("packed");
    store.pack(young).await.expect("packed");
    let paths = hashes.map(|hash| file_of(home, hash));
    age(&paths[0], FILE_AGE * 2);
    age(&paths[1], FILE_AGE * 2);
    paths
}

#[test]
fn only_old_files_without_a_row_are_swept() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let paths = three_files(home.path(), &store).await;
        let found = store.inspect_files().await.expect("inspected");
        assert_eq!((found.orphans.rows, found.missing), (2, 0));
        let bytes = fs::metadata(&paths[1]).expect("there").len();
        let swept = store.sweep_files().await.expect("swept");
        assert_eq!((swept.removed, swept.is_all), (DataSize { rows: 1, bytes }, true));
        assert_eq!(paths.each_ref().map(|path| path.exists()), [true, false, true]);
        fs::remove_file(&paths[0]).expect("removed");
        assert_eq!(store.inspect_files().await.expect("inspected").missing, 1);
    });
}

#[test]
fn an_existing_file_is_not_swept_before_a_row_refers_to_it() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let paths = three_files(home.path(), &store).await;
        // The same blob is packed again, but not committed yet.
        let blob = wakeful_core::blob::Blob::new(noise(100_001));
        let hash = blob.hash();
        let packed = store.pack(blob).await.expect("packed");
        let swept = store.sweep_files().await.expect("swept");
        assert_eq!(swept.removed.rows, 0);
        store.write(move |tx| tx.put_blob(&packed)).await.expect("kept");
        let read = store.read(move |view| view.blob(&hash)).await.expect("read");
        assert_eq!(read, Some(noise(100_001)));
        assert!(paths[1].exists());
    });
}

#[test]
fn nothing_is_swept_while_files_are_copied() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let paths = three_files(home.path(), &store).await;
        let copying = keep_files(&home.path().join("blobs")).expect("kept");
        let swept = store.sweep_files().await.expect("swept");
        assert_eq!((swept.removed.rows, swept.is_all), (0, false));
        drop(copying);
        assert_eq!(store.sweep_files().await.expect("swept").removed.rows, 1);
        assert!(!paths[1].exists());
    });
}
