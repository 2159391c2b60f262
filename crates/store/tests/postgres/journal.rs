//! The journal's own schema on a server.

use wakeful_ports::journal::Journal as _;
use wakeful_store::{JOURNAL_SCHEMA, JournalStore, StoreError};

use super::behind;
use crate::contract::journal::create;
use crate::fixture::{HOST, Server, block_on};

// Conformance: L-001
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
        behind(&server, "DROP SCHEMA wakeful_agents CASCADE").await;
        server.open().await.close().await.expect("a fresh one");
        let changes = journal.changes(0, 10).await.expect("read");
        assert_eq!(changes.len(), 1, "it outlives the other");
        journal.close().await;
    });
    server.behind("INSERT INTO wakeful_records.schema_version VALUES (99)");
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
