//! The migration mechanism, tried with an example step after each baseline: nothing that a database holds is lost, what
//! it was is kept beside it, and programs that know fewer or more steps are told apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::*;
use crate::sqlite::copy::{COPIES_MAX, SchemaUpgrade};
use crate::sqlite::open::{open_to_read, open_to_write};

const BUSY: Duration = Duration::from_secs(1);

/// A column that follows from another.
const STEP: &str = "ALTER TABLE host ADD COLUMN label TEXT; UPDATE host SET label = host_id;";

/// A schema with these steps after its baseline.
fn with_steps(schema: &Schema, steps: &[&'static str]) -> Schema {
    let brought =
        |baseline: &[&'static str]| -> &'static [&'static str] { Vec::leak([baseline, steps].concat()) };
    Schema {
        sqlite: brought(schema.sqlite),
        postgres: brought(schema.postgres),
        ..*schema
    }
}

/// A folder with a database in it, made by a program that knows this schema.
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

/// The names that a query lists.
fn names(database: &Connection, query: &str) -> Vec<String> {
    let mut listed = database.prepare(query).unwrap();
    let listed = listed.query_map([], |row| row.get(0)).unwrap();
    listed.map(Result::unwrap).collect()
}

/// Everything that a database holds, in the columns of another.
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

/// One row more, of a table that both kinds have or that this kind has alone.
fn fill(path: &Path, schema: &Schema) {
    let row = match schema.namespace {
        "wakeful_agents" => "INSERT INTO cap VALUES ('main', 7, 1)",
        _ => "INSERT INTO category VALUES ('c1', 'Home', 1, 1, NULL)",
    };
    Connection::open(path).unwrap().execute_batch(row).unwrap();
}

#[test]
fn each_kind_of_database_has_as_many_migrations_on_either_server() {
    for schema in [&AGENT, &JOURNAL] {
        assert_eq!(schema.sqlite.len(), schema.postgres.len(), "{}", schema.namespace);
    }
}

#[test]
fn a_reader_is_told_of_another_schema_and_of_none() {
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

#[test]
fn an_older_database_is_brought_up_to_date_with_all_that_it_holds() {
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
fn a_program_that_knows_fewer_steps_is_refused_and_goes_on_with_the_copy() {
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
    // And once more forward.
    let opened = open_to_write(&path, &new, BUSY, "host").unwrap();
    assert_eq!(opened.upgraded.map(|upgraded| upgraded.from), Some(SCHEMA));
}

#[test]
fn copies_of_earlier_schemas_do_not_pile_up() {
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

#[test]
fn a_migration_that_fails_leaves_the_database_as_it_was_and_a_copy_beside_it() {
    let (_home, path) = home_of(&AGENT);
    fill(&path, &AGENT);
    // It breaks after it has done something.
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
fn without_room_for_the_copy_nothing_is_changed() {
    let (home, path) = home_of(&AGENT);
    // A folder stands where the copy is to be.
    fs::create_dir(backup(&path, SCHEMA)).unwrap();
    fs::write(backup(&path, SCHEMA).join("full"), "").unwrap();
    assert!(open_to_write(&path, &with_steps(&AGENT, &[STEP]), BUSY, "host").is_err());
    assert_eq!(version(&path), SCHEMA);
    let left = fs::read_dir(home.path()).unwrap().filter_map(Result::ok);
    let drafts = left.filter(|entry| entry.file_name().to_string_lossy().contains("draft"));
    assert_eq!(drafts.count(), 0, "no half copy is left");
}

#[test]
fn a_file_of_a_development_build_is_refused_and_not_touched() {
    for (schema, application_id, number) in [(&AGENT, 0x5741_4b45, 15), (&JOURNAL, 0x5741_4b4a, 3)] {
        let (_home, path) = home_of(schema);
        let mark = format!("PRAGMA application_id = {application_id}; PRAGMA user_version = {number};");
        Connection::open(&path).unwrap().execute_batch(&mark).unwrap();
        let before = fs::read(&path).unwrap();
        // Its number is that of a newer, of the same, and of an older program, depending on who asks.
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
