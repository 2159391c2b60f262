//! A database of every schema that was ever released is brought up to date: nothing it holds is lost or changed, its
//! chain still holds, what it was is kept beside it, and it can be written to.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;
use wakeful_core::key::Digest;
use wakeful_core::report::{Head, payload_hash};
use wakeful_store::{COPIES_MAX, SCHEMA, Store, Upgraded};

use crate::world::{HOST, block_on, files, lived, open_file, sample};

/// Schemas that were released, and whose databases lie beside the tests.
const RELEASED: [u32; 7] = [1, 2, 3, 7, 12, 13, 14];

/// Those whose program had lived through a bit of everything.
const LIVED: [u32; 3] = [7, 13, 14];

fn golden(schema: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/schema-{schema}.sqlite"))
}

/// A home with a golden database in it.
fn home_of(schema: u32) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    fs::copy(golden(schema), files(home.path()).path).expect("copied");
    home
}

/// Everything that a database holds, in the columns that another one has. The home's own log is not among it: an upgrade
/// begins it.
pub(super) fn rows(database: &Connection, columns_of: &Connection) -> Vec<(String, Vec<Vec<Value>>)> {
    let list = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut tables = columns_of.prepare(list).expect("prepared");
    let tables = tables
        .query_map([], |row| row.get::<_, String>(0))
        .expect("tables");
    let tables: Vec<String> = tables.map(|name| name.expect("a name")).collect();
    let read = |table: String| {
        let mut columns = columns_of
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .expect("prepared");
        let columns = columns
            .query_map([&table], |row| row.get::<_, String>(0))
            .expect("columns");
        let columns: Vec<String> = columns.map(|name| name.expect("a name")).collect();
        let listed = columns.join(", ");
        let query = format!("SELECT {listed} FROM {table} ORDER BY {listed}");
        let mut statement = database.prepare(&query).expect("prepared");
        let width = columns.len();
        let found = statement.query_map([], |row| (0..width).map(|n| row.get(n)).collect());
        let found = found.expect("rows").map(|row| row.expect("a row"));
        let home_log = Value::Text("~home".to_owned());
        let found: Vec<Vec<Value>> = found
            .filter(|row: &Vec<Value>| !row.contains(&home_log))
            .collect();
        (table, found)
    };
    tables.into_iter().map(read).collect()
}

/// Whether every event of an agent follows the one before it, and its payload is what its header says.
async fn assert_chained(store: &Store, agent: &str) {
    let agent = sample::agent_id(agent);
    let wanted = agent.clone();
    let (events, incarnation) = store
        .read(move |view| Ok((view.events(&wanted, 0, 1_000)?, view.incarnation()?)))
        .await
        .expect("read");
    assert!(!events.is_empty(), "there is something to prove");
    let mut head = Head {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation,
    };
    for event in events {
        let (payload, salt) = event.payload.expect("nothing was erased");
        assert_eq!(payload_hash(&salt, &payload), event.payload_hash, "{}", event.seq);
        let sealed = wakeful_core::report::Sealed {
            kind: wakeful_core::report::Kind::parse(&event.kind).expect("a kind"),
            at: event.at,
            run_key: event.run_key,
            payload,
            salt,
            payload_hash: event.payload_hash,
            policy_version: Some(wakeful_core::id::PolicyVersion::new(event.policy_version)),
        };
        assert_eq!(head.chain(&agent, sealed).hash, event.hash, "event {}", event.seq);
    }
}

/// Whether what it was is kept, as it was; nothing has to be where it was of today's schema already.
fn assert_kept_beside(store: &Store, home: &Path, schema: u32, old: &Connection) {
    if schema == SCHEMA {
        assert_eq!(store.upgraded(), None);
        return;
    }
    let copy = home.join(format!("agent.sqlite.schema-{schema}.bak"));
    let upgraded = Upgraded {
        from: schema,
        to: SCHEMA,
        copy: copy.clone(),
    };
    assert_eq!(store.upgraded(), Some(&upgraded));
    let kept = Connection::open(&copy).expect("opens");
    assert_eq!(rows(&kept, old), rows(old, old), "the copy of schema {schema}");
    let version: u32 = kept
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .expect("a version");
    assert_eq!(version, schema);
}

#[test]
fn every_released_schema_is_brought_up_to_date_with_all_that_it_holds() {
    for schema in RELEASED {
        let home = home_of(schema);
        let path = files(home.path()).path;
        block_on(async {
            let store = Store::open_sqlite(&files(home.path()), "other").expect("opens");
            let old = Connection::open(golden(schema)).expect("opens");
            let new = Connection::open(&path).expect("opens");
            assert_eq!(rows(&new, &old), rows(&old, &old), "schema {schema}");
            assert_kept_beside(&store, home.path(), schema, &old);
            assert_chained(&store, "main").await;
            if LIVED.contains(&schema) {
                lived::assert_all_there(&store).await;
            }
            let newest = "SELECT MAX(started_at_ms) FROM run WHERE agent_id = 'main'";
            let newest: Option<i64> = old.query_row(newest, [], |row| row.get(0)).expect("a time");
            let began = store
                .read(|view| view.last_run_at(&sample::agent_id("main")))
                .await;
            assert_eq!(began.expect("read").map(|at| at.0), newest);
            let fresh = store.write(|tx| tx.create_agent(&sample::agent("fresh"))).await;
            assert!(fresh.expect("it can be written to"));
            store.close().await.expect("closed");
        });
        let again = Store::open_sqlite(&files(home.path()), HOST).expect("opens");
        assert_eq!(again.upgraded(), None, "nothing is left to do");
    }
}

#[test]
fn the_copy_is_what_an_older_program_goes_on_with() {
    let home = home_of(3);
    let path = files(home.path()).path;
    block_on(async {
        let store = open_file(home.path());
        store
            .write(|tx| tx.create_agent(&sample::agent("fresh")))
            .await
            .expect("written");
        store.close().await.expect("closed");
    });
    fs::rename(home.path().join("agent.sqlite.schema-3.bak"), &path).expect("put back");
    let back = Connection::open(&path).expect("opens");
    let old = Connection::open(golden(3)).expect("opens");
    assert_eq!(rows(&back, &old), rows(&old, &old));
    // And once more forward.
    drop(back);
    assert_eq!(
        open_file(home.path()).upgraded().map(|upgraded| upgraded.from),
        Some(3)
    );
}

#[test]
fn copies_of_earlier_schemas_do_not_pile_up() {
    let home = home_of(1);
    drop(open_file(home.path()));
    for schema in [2, 3] {
        fs::copy(golden(schema), files(home.path()).path).expect("copied");
        drop(open_file(home.path()));
    }
    let mut names: Vec<String> = fs::read_dir(home.path())
        .expect("a listing")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .filter(|name| name.contains("schema"))
        .collect();
    names.sort();
    assert_eq!(names, ["agent.sqlite.schema-2.bak", "agent.sqlite.schema-3.bak"]);
    assert_eq!(names.len(), COPIES_MAX);
}
