//! Wake records: why a message became a run, or why not.

use wakeful_core::key::RunKey;
use wakeful_ports::records::WakeRow;
use wakeful_ports::store::StoreError;

use crate::sql::{Row, Sql, at_most_one};

/// A refusal may be reconsidered. A yes stays, because a run stands on it.
const PUT: &str = "
    INSERT INTO wake (run_key, agent_id, verdict, gates, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (run_key) DO UPDATE SET
        verdict = excluded.verdict, gates = excluded.gates, at_ms = excluded.at_ms
    WHERE wake.verdict <> 'run'";

/// Keeps a wake record; a later verdict for the same key replaces an earlier refusal.
pub(crate) fn put(sql: &mut dyn Sql, wake: &WakeRow) -> Result<(), StoreError> {
    let params = [
        (&wake.run_key).into(),
        (&wake.agent_id).into(),
        wake.verdict.as_str().into(),
        wake.gates.as_str().into(),
        wake.at.into(),
    ];
    sql.execute(PUT, &params).map(drop)
}

const ONE: &str = "SELECT run_key, agent_id, verdict, gates, at_ms FROM wake WHERE run_key = ?1";

/// The wake record of a run.
pub(crate) fn one(sql: &mut dyn Sql, run: &RunKey) -> Result<Option<WakeRow>, StoreError> {
    let rows = sql.query(ONE, &[run.into()])?;
    at_most_one(rows).map(read).transpose()
}

fn read(mut row: Row) -> Result<WakeRow, StoreError> {
    Ok(WakeRow {
        run_key: RunKey(row.digest("wake.run_key")?),
        agent_id: row.agent_id("wake.agent_id")?,
        verdict: row.text("wake.verdict")?,
        gates: row.text("wake.gates")?,
        at: row.millis("wake.at_ms")?,
    })
}
