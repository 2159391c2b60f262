//! The run log: the inputs of a run, in order.

use wakeful_core::key::RunKey;

use crate::rows::RunLogRow;
use crate::sql::{Row, Sql, limit, records};
use crate::{Result, Tx, View};

const APPEND: &str = "
    INSERT INTO run_log (run_key, ordinal, input, reads_hash, state_hash, effects_hash, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (run_key, ordinal) DO NOTHING";

impl Tx<'_> {
    pub fn append_run_log(&mut self, row: &RunLogRow) -> Result<()> {
        let params = [
            (&row.run_key).into(),
            row.ordinal.into(),
            row.body.as_slice().into(),
            (&row.reads_hash).into(),
            (&row.state_hash).into(),
            (&row.effects_hash).into(),
            row.at.into(),
        ];
        self.sql.run_once(APPEND, &params)
    }
}

const AFTER: &str = "
    SELECT run_key, ordinal, input, reads_hash, state_hash, effects_hash, at_ms
    FROM run_log WHERE run_key = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3";

impl View<'_> {
    /// Returns the run log after an ordinal, oldest first.
    pub fn run_log(&mut self, run: &RunKey, ordinal: i64, at_most: u32) -> Result<Vec<RunLogRow>> {
        records(
            self.sql
                .query(AFTER, &[run.into(), ordinal.into(), limit(at_most)])?,
            read,
        )
    }
}

fn read(mut row: Row) -> Result<RunLogRow> {
    Ok(RunLogRow {
        run_key: RunKey(row.digest("run_log.run_key")?),
        ordinal: row.int("run_log.ordinal")?,
        body: row.bytes("run_log.input")?,
        reads_hash: row.digest("run_log.reads_hash")?,
        state_hash: row.digest("run_log.state_hash")?,
        effects_hash: row.digest("run_log.effects_hash")?,
        at: row.millis("run_log.at_ms")?,
    })
}
