//! The journal's own file: its identity, and its possible errors.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use wakeful_ports::journal::{Journal as _, TaskFilter};
use wakeful_store::{JOURNAL_SCHEMA, JournalStore, Store, StoreError};

use crate::contract::journal::create;
use crate::fixture::{HOST, block_on, files, journal_files, open_file};

fn open(home: &Path) -> Result<JournalStore, StoreError> {
    JournalStore::open_sqlite(&journal_files(home), HOST)
}

fn failed(home: &Path) -> StoreError {
    match open(home) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

async fn count(journal: &JournalStore) -> usize {
    let filter = TaskFilter {
        limit: 10,
        ..TaskFilter::default()
    };
    journal.tasks(filter).await.expect("read").len()
}

// Conformance: L-004
#[test]
fn a_journal_outlives_the_database_of_agents() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let (store, journal) = (open_file(home.path()), open(home.path()).expect("opens"));
        journal.write(create("a", "Buy milk")).await.expect("written");
        journal.close().await;
        store.close().await.expect("closed");
        let bytes = fs::read(journal_files(home.path()).path).expect("the file");
        fs::remove_file(files(home.path()).path).expect("removed");
        open_file(home.path()).close().await.expect("a fresh one");
        assert_eq!(
            fs::read(journal_files(home.path()).path).expect("the file"),
            bytes
        );
        let journal = open(home.path()).expect("opens");
        assert_eq!(count(&journal).await, 1);
    });
}

// Conformance: L-001
#[test]
fn the_two_databases_are_not_confused() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        open_file(home.path()).close().await.expect("closed");
        open(home.path()).expect("opens").close().await;
        let (agents, journal) = (files(home.path()), journal_files(home.path()));
        let wrong = JournalStore::open_sqlite(&agents, HOST).err();
        assert!(matches!(wrong, Some(StoreError::Foreign)), "{wrong:?}");
        let wrong = Store::open_sqlite(&journal, HOST).err();
        assert!(matches!(wrong, Some(StoreError::Foreign)), "{wrong:?}");
    });
}

#[test]
fn a_damaged_foreign_or_newer_journal_is_refused_and_left_unchanged() {
    let home = tempfile::tempdir().expect("a folder");
    let path = journal_files(home.path()).path;
    fs::write(
        &path,
        "no database at all, but long enough to have a header of a hundred bytes ".repeat(9),
    )
    .expect("written");
    assert!(matches!(failed(home.path()), StoreError::Corrupt(_)));
    fs::remove_file(&path).expect("removed");
    let other = Connection::open(&path).expect("a file");
    other
        .execute_batch("CREATE TABLE recipe (name TEXT)")
        .expect("a table");
    drop(other);
    assert!(matches!(failed(home.path()), StoreError::Foreign));
    fs::remove_file(&path).expect("removed");
    block_on(async { open(home.path()).expect("opens").close().await });
    let newer = Connection::open(&path).expect("the file");
    newer.execute_batch("PRAGMA user_version = 99").expect("a number");
    drop(newer);
    assert!(matches!(
        failed(home.path()),
        StoreError::NewerSchema {
            found: 99,
            known: JOURNAL_SCHEMA
        }
    ));
}

#[test]
fn a_reader_does_not_create_a_journal() {
    let home = tempfile::tempdir().expect("a folder");
    let reading = JournalStore::open_sqlite_read_only(&journal_files(home.path())).err();
    assert!(matches!(reading, Some(StoreError::Absent)), "{reading:?}");
    assert!(!journal_files(home.path()).path.exists());
}

// Conformance: L-001, L-002
/// The journal cannot store internal data of agents: no table has a column for it.
#[test]
fn a_journal_has_no_tables_for_internal_data_of_agents() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async { open(home.path()).expect("opens").close().await });
    let file = Connection::open(journal_files(home.path()).path).expect("the file");
    let mut tables = file
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .expect("a query");
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let tables: Vec<String> = tables.map(|name| name.expect("a name")).collect();
    assert_eq!(
        tables,
        [
            "category",
            "change",
            "checklist",
            "checklist_item",
            "day_plan",
            "day_plan_block",
            "host",
            "link",
            "note",
            "operation",
            "rating",
            "source",
            "source_entry",
            "task",
            "time_entry"
        ]
    );
}
