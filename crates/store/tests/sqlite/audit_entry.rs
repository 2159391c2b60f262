//! Programs that open the file cannot change audit entries, and removing the protection is noticed.

use super::behind;
use crate::contract::audit_entry::{ATTEMPTS, decisions};
use crate::fixture::{block_on, open_file};

const ROWS: &str = "
    SELECT group_concat(line) FROM (
        SELECT agent_id || seq || tool || decision || reason AS line FROM audit_entry
        UNION ALL SELECT agent_id || purpose || used_seq || ifnull(hex(run_key), '') FROM consent ORDER BY line)";

// Conformance: A-173
#[test]
fn no_statement_of_another_program_changes_an_audit_entry() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        decisions(&store).await;
        let other = behind(home.path());
        let rows = || {
            other
                .query_row(ROWS, [], |row| row.get::<_, String>(0))
                .expect("rows")
        };
        let before = rows();
        let replaced = "INSERT OR REPLACE INTO audit_entry
            SELECT agent_id, seq, run_key, operation_id, 'Other', 'permit', stage, rule, reason, NULL, policy_version, at_ms
            FROM audit_entry";
        for attempt in ATTEMPTS.into_iter().chain([replaced]) {
            let tried = other.execute_batch(&format!("BEGIN IMMEDIATE; {attempt};"));
            assert!(tried.is_err(), "{attempt}");
            other.execute_batch("ROLLBACK").expect("rolled back");
            assert_eq!(rows(), before, "{attempt}");
        }
        let altered = async || store.read(|view| view.altered_triggers()).await.expect("read");
        assert_eq!(altered().await, Vec::<String>::new());
        let removed = "DROP TRIGGER audit_entry_update; DROP TRIGGER audit_entry_delete;
            CREATE TRIGGER audit_entry_delete BEFORE DELETE ON audit_entry BEGIN SELECT 1; END;
            CREATE TRIGGER foreign_one AFTER INSERT ON audit_entry BEGIN SELECT 1; END";
        other.execute_batch(removed).expect(removed);
        assert_eq!(
            altered().await,
            ["audit_entry_update", "audit_entry_delete", "foreign_one"]
        );
        store.close().await.expect("closed");
    });
}
