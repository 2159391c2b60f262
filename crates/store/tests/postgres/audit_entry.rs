//! Programs that connect to the server cannot change audit entries, and removing the protection is noticed.

use super::{behind, with_two};
use crate::contract::audit_entry::{ATTEMPTS, decisions};

// Conformance: A-173
#[test]
fn no_statement_of_another_session_changes_an_audit_entry() {
    with_two(async |server, store, _| {
        decisions(&store).await;
        // A session that replicates skips ordinary triggers.
        let replicating = "SET session_replication_role = replica; DELETE FROM audit_entry";
        let more = ["TRUNCATE audit_entry", "TRUNCATE consent CASCADE", replicating];
        for attempt in ATTEMPTS.into_iter().chain(more) {
            let tried = std::thread::scope(|scope| {
                let tried = scope.spawn(|| server.try_behind(&format!("BEGIN; {attempt}; COMMIT")));
                tried.join().expect("a thread")
            });
            assert!(tried.is_err(), "{attempt}");
        }
        let left = store.read(|view| {
            let target = wakeful_core::report::payload::ErasedTarget::Events {
                first_seq: 1,
                last_seq: 9,
            };
            view.audit_entry_count(&crate::fixture::sample::agent_id("main"), target)
        });
        assert_eq!(left.await.expect("read"), 3);
        let altered = async || store.read(|view| view.altered_triggers()).await.expect("read");
        assert_eq!(altered().await, Vec::<String>::new());
        behind(server, "ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_rows").await;
        assert_eq!(altered().await, ["audit_entry_rows"]);
        behind(
            server,
            "ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER audit_entry_rows;
            DROP TRIGGER consent_truncate ON consent;
            CREATE OR REPLACE FUNCTION audit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN OLD; END$$",
        )
        .await;
        assert_eq!(
            altered().await,
            ["audit_entry_rows", "audit_entry_truncate", "consent_truncate"]
        );
    });
}
