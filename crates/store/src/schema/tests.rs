//! Tests of the migration mechanism, with an example migration after each baseline: no data is lost, a copy
//! of the old database is kept, and programs that know fewer or more migrations are detected.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::*;
use crate::sqlite::copy::{COPIES_MAX, SchemaUpgrade};
use crate::sqlite::open::{open_to_read, open_to_write};

const BUSY: Duration = Duration::from_secs(1);

/// Adds a column that is derived from another.
const STEP: &str = "ALTER TABLE host ADD COLUMN label TEXT; UPDATE host SET label = host_id;";

/// Returns a schema with these migrations after its baseline.
fn with_steps(schema: &Schema, steps: &[&'static str]) -> Schema {
    let brought =
        |baseline: &[&'static str]| -> &'static [&'static str] { Vec::leak([baseline, steps].concat()) };
    Schema {
        sqlite: brought(schema.sqlite),
        postgres: brought(schema.postgres),
        ..*schema
    }
}

/// Returns a folder with a database created with this schema.
fn home_of(schema: &Schema) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.sqlite");
    drop(open_to_write(&path, schema, BUSY, "host").unwrap());
    (home, path)
}

fn backup(path: &Path, schema: u32) -> PathBuf {
    PathBuf::from(format!("{}.schema-{schema}.bak", path.display()))
}

fn version(path: &Path) -> u32 {
    let database = Connection::open(path).unwrap();
    database
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

/// Returns the names that a query lists.
fn names(database: &Connection, query: &str) -> Vec<String> {
    let mut listed = database.prepare(query).unwrap();
    let listed = listed.query_map([], |row| row.get(0)).unwrap();
    listed.map(Result::unwrap).collect()
}

/// Returns all rows of a database, in the columns of another one.
fn rows(path: &Path, columns_of: &Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let (database, other) = (
        Connection::open(path).unwrap(),
        Connection::open(columns_of).unwrap(),
    );
    let tables = names(
        &other,
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    );
    let read = |table: String| {
        let columns = names(&other, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let listed = columns.join(", ");
        let query = format!("SELECT {listed} FROM {table} ORDER BY {listed}");
        let mut statement = database.prepare(&query).unwrap();
        let found = statement.query_map([], |row| (0..columns.len()).map(|n| row.get(n)).collect());
        (table, found.unwrap().map(Result::unwrap).collect())
    };
    tables.into_iter().map(read).collect()
}

/// Adds a row to a table of this kind of database.
fn fill(path: &Path, schema: &Schema) {
    let row = match schema.namespace {
        "wakeful_agents" => "INSERT INTO cap VALUES ('main', 7, 1)",
        _ => "INSERT INTO category VALUES ('c1', 'Home', 1, 1, NULL)",
    };
    Connection::open(path).unwrap().execute_batch(row).unwrap();
}

#[test]
fn sqlite_and_postgres_have_the_same_number_of_migrations() {
    for schema in [&AGENT, &JOURNAL] {
        assert_eq!(schema.sqlite.len(), schema.postgres.len(), "{}", schema.namespace);
    }
}

#[test]
fn a_reader_refuses_other_schemas_and_empty_databases() {
    assert!(matches!(readable(0, 2), Err(StoreError::Absent)));
    assert!(matches!(
        readable(1, 2),
        Err(StoreError::OlderSchema { found: 1, known: 2 })
    ));
    assert!(readable(2, 2).is_ok());
    assert!(matches!(
        readable(3, 2),
        Err(StoreError::NewerSchema { found: 3, known: 2 })
    ));
}

// Conformance: L-024, L-198, A-148
#[test]
fn an_older_database_is_migrated_with_its_data() {
    for old in [&AGENT, &JOURNAL] {
        let (home, path) = home_of(old);
        fill(&path, old);
        let before = home.path().join("before");
        fs::copy(&path, &before).unwrap();
        let new = with_steps(old, &[STEP]);
        let (from, to) = (old.number(), new.number());
        let read = open_to_read(&path, &new, BUSY).err();
        assert!(
            matches!(read, Some(StoreError::OlderSchema { found, known }) if (found, known) == (from, to)),
            "{read:?}"
        );
        assert_eq!(version(&path), from, "a reader changes nothing");
        let opened = open_to_write(&path, &new, BUSY, "other").unwrap();
        let copy = backup(&path, from);
        assert_eq!(opened.upgraded.clone(), Some(SchemaUpgrade { from, to, copy }));
        drop(opened);
        assert_eq!(rows(&path, &before), rows(&before, &before));
        let label = names(&Connection::open(&path).unwrap(), "SELECT label FROM host");
        assert_eq!(label, ["host"], "the step saw the rows that were there");
        assert_eq!(rows(&backup(&path, from), &before), rows(&before, &before));
        assert_eq!((version(&path), version(&backup(&path, from))), (to, from));
        let again = open_to_write(&path, &new, BUSY, "other").unwrap();
        assert_eq!(again.upgraded, None, "nothing is left to do");
    }
}

#[test]
fn an_older_program_is_refused_and_can_use_the_copy() {
    let (_home, path) = home_of(&AGENT);
    fill(&path, &AGENT);
    let new = with_steps(&AGENT, &[STEP]);
    drop(open_to_write(&path, &new, BUSY, "host").unwrap());
    let is_newer = |error: Option<StoreError>| matches!(error, Some(StoreError::NewerSchema { found, known }) if (found, known) == (new.number(), SCHEMA));
    assert!(is_newer(open_to_write(&path, &AGENT, BUSY, "host").err()));
    assert!(is_newer(open_to_read(&path, &AGENT, BUSY).err()));
    fs::rename(backup(&path, SCHEMA), &path).unwrap();
    drop(open_to_write(&path, &AGENT, BUSY, "host").unwrap());
    let caps = names(&Connection::open(&path).unwrap(), "SELECT agent_id FROM cap");
    assert_eq!(caps, ["main"]);
    // Migrate forward once more.
    let opened = open_to_write(&path, &new, BUSY, "host").unwrap();
    assert_eq!(opened.upgraded.map(|upgraded| upgraded.from), Some(SCHEMA));
}

#[test]
fn copies_of_earlier_schemas_do_not_accumulate() {
    const NEXT: &str = "CREATE TABLE more_INDEX (n INTEGER)";
    let (home, path) = home_of(&AGENT);
    let mut steps = vec![STEP];
    for index in 0..=COPIES_MAX {
        drop(open_to_write(&path, &with_steps(&AGENT, &steps), BUSY, "host").unwrap());
        steps.push(String::leak(NEXT.replace("INDEX", &index.to_string())));
    }
    let listed = fs::read_dir(home.path()).unwrap();
    let listed = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut copies: Vec<String> = listed.filter(|name| name.contains("schema")).collect();
    copies.sort();
    let newest = SCHEMA + 1..=SCHEMA + u32::try_from(COPIES_MAX).unwrap();
    let newest: Vec<String> = newest
        .map(|schema| format!("a.sqlite.schema-{schema}.bak"))
        .collect();
    assert_eq!(copies, newest);
}

// Conformance: L-198
#[test]
fn a_failed_migration_leaves_the_database_unchanged_and_a_copy() {
    let (_home, path) = home_of(&AGENT);
    fill(&path, &AGENT);
    // The migration fails after its first statement.
    let broken = with_steps(&AGENT, &[STEP, "DROP TABLE cap; CREATE TABLE broken (;"]);
    assert!(open_to_write(&path, &broken, BUSY, "host").is_err());
    for path in [&path, &backup(&path, SCHEMA)] {
        assert_eq!(version(path), SCHEMA, "{}", path.display());
        let database = Connection::open(path).unwrap();
        assert_eq!(names(&database, "SELECT agent_id FROM cap"), ["main"]);
        let labels = "SELECT name FROM pragma_table_info('host') WHERE name = 'label'";
        assert_eq!(
            names(&database, labels),
            [""; 0],
            "the step before it is undone as well"
        );
    }
    let again = open_to_write(&path, &with_steps(&AGENT, &[STEP]), BUSY, "host").unwrap();
    assert_eq!(
        again.upgraded.map(|upgraded| upgraded.from),
        Some(SCHEMA),
        "and can be tried again"
    );
}

#[test]
fn without_a_copy_nothing_is_changed() {
    let (home, path) = home_of(&AGENT);
    // A folder occupies the path of the copy.
    fs::create_dir(backup(&path, SCHEMA)).unwrap();
    fs::write(backup(&path, SCHEMA).join("full"), "").unwrap();
    assert!(open_to_write(&path, &with_steps(&AGENT, &[STEP]), BUSY, "host").is_err());
    assert_eq!(version(&path), SCHEMA);
    let left = fs::read_dir(home.path()).unwrap().filter_map(Result::ok);
    let drafts = left.filter(|entry| entry.file_name().to_string_lossy().contains("draft"));
    assert_eq!(drafts.count(), 0, "no half copy is left");
}

#[test]
fn a_file_of_a_development_build_is_refused_and_left_unchanged() {
    for (schema, application_id, number) in [(&AGENT, 0x5741_4b45, 15), (&JOURNAL, 0x5741_4b4a, 3)] {
        let (_home, path) = home_of(schema);
        let mark = format!("PRAGMA application_id = {application_id}; PRAGMA user_version = {number};");
        Connection::open(&path).unwrap().execute_batch(&mark).unwrap();
        let before = fs::read(&path).unwrap();
        // Compared with these schemas, its number is older, equal or newer.
        for known in [&with_steps(schema, &[STEP; 20]), schema] {
            let opened = open_to_write(&path, known, BUSY, "host").err();
            assert!(matches!(opened, Some(StoreError::DevelopmentHome)), "{opened:?}");
            let read = open_to_read(&path, known, BUSY).err();
            assert!(matches!(read, Some(StoreError::DevelopmentHome)), "{read:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert!(!backup(&path, number).exists());
    }
}
