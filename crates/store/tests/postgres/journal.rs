//! The journal's own schema on a server.

use wakeful_core::journal::{Mutation, RecordId};
use wakeful_ports::journal::{Journal as _, Order};
use wakeful_store::{JOURNAL_SCHEMA, JournalStore, StoreError};

use super::behind;
use crate::contract::journal::create;
use crate::world::{HOST, Server, block_on};

#[test]
fn agents_and_journal_have_a_schema_each_in_one_database() {
    let server = Server::fresh();
    block_on(async {
        let store = server.open().await;
        let journal = JournalStore::open_postgres(&server.options(), HOST)
            .await
            .expect("it opens");
        journal.write(create("a", "Buy milk")).await.expect("written");
        store.close().await.expect("closed");
        behind(&server, "DROP SCHEMA wakeful CASCADE").await;
        server.open().await.close().await.expect("a fresh one");
        let changes = journal.changes(0, 10).await.expect("read");
        assert_eq!(changes.len(), 1, "it outlives the other");
        journal.close().await;
    });
    server.behind("INSERT INTO wakeful_journal.schema_version VALUES (99)");
    block_on(async {
        let newer = JournalStore::open_postgres(&server.options(), HOST).await.err();
        assert!(
            matches!(
                newer,
                Some(StoreError::NewerSchema {
                    found: 99,
                    known: JOURNAL_SCHEMA
                })
            ),
            "{newer:?}"
        );
        let reading = JournalStore::open_postgres_read_only(&server.options())
            .await
            .err();
        assert!(
            matches!(reading, Some(StoreError::NewerSchema { .. })),
            "{reading:?}"
        );
    });
}

/// What schema 1 brought, and rows that it could hold.
const FIRST: &str = include_str!("../../migrations/journal/postgres/0001_journal.sql");
const ROWS: &str = "
    INSERT INTO host VALUES (1, 'host', 1, 1, 1);
    INSERT INTO task VALUES ('0123456789abcdef0123456789abcdef', NULL, 'Buy milk', '', 'open', 1, 1, 1, NULL);
    INSERT INTO change VALUES (1, 'host.1', 1, 'task', '0123456789abcdef0123456789abcdef', '[]', 'person', sha256('a'), 1);";

#[test]
fn a_journal_of_schema_1_is_brought_up_to_date_on_a_server() {
    let server = Server::fresh();
    server.behind(&format!(
        "CREATE SCHEMA wakeful_journal; SET search_path TO wakeful_journal;
        CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY); INSERT INTO schema_version VALUES (1);
        {FIRST} {ROWS}"
    ));
    block_on(async {
        let journal = JournalStore::open_postgres(&server.options(), HOST)
            .await
            .expect("it opens");
        let task = RecordId::parse("task_id", "0123456789abcdef0123456789abcdef").expect("an id");
        let start = Order {
            mutation: Mutation::StartTime {
                task,
                description: String::new(),
            },
            ..create("a", "")
        };
        let receipt = journal.write(start).await.expect("written");
        assert_eq!(receipt.unit.counter, 2, "it counts on");
        journal.close().await;
    });
}
