//! Wake records: why a message did or did not become a run.

use wakeful_core::budget::UtcDay;
use wakeful_core::cause::Cause;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::wake::{REFUSALS_KEPT_MAX, WakeOutcome};

use crate::rows::{WakeFilter, WakeRefusalRow, WakeRow};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View};

/// A refusal may be replaced. A positive verdict stays, because a run depends on it.
const PUT: &str = "
    INSERT INTO wake (run_key, agent_id, verdict, gates, at_ms, source, cause, absorbed_by)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (run_key) DO UPDATE SET
        verdict = excluded.verdict, gates = excluded.gates, at_ms = excluded.at_ms, absorbed_by = excluded.absorbed_by
    WHERE wake.verdict NOT IN ('run', 'absorbed')";

impl Tx<'_> {
    /// Stores a wake record; a later verdict for the same key replaces an earlier refusal.
    pub fn put_wake(&mut self, wake: &WakeRow) -> Result<()> {
        let (source, cause) = (wake.cause.origin.source(), cause(&wake.cause)?);
        let params = [
            (&wake.run_key).into(),
            (&wake.agent_id).into(),
            wake.verdict.as_str().into(),
            wake.gates.as_str().into(),
            wake.at.into(),
            source.as_str().into(),
            cause.as_str().into(),
            wake.absorbed_by.as_ref().into(),
        ];
        self.sql.run(PUT, &params)
    }
}

fn cause(cause: &Cause) -> Result<String> {
    serde_json::to_string(cause).map_err(|_| StoreError::Malformed("wake.cause"))
}

const ONE: &str = "
    SELECT run_key, agent_id, verdict, gates, at_ms, cause, absorbed_by FROM wake WHERE run_key = ?1";

impl View<'_> {
    pub fn wake(&mut self, run: &RunKey) -> Result<Option<WakeRow>> {
        let rows = self.sql.query(ONE, &[run.into()])?;
        at_most_one(rows).map(read).transpose()
    }
}

fn read(mut row: Row) -> Result<WakeRow> {
    Ok(WakeRow {
        run_key: RunKey(row.digest("wake.run_key")?),
        agent_id: row.agent_id("wake.agent_id")?,
        verdict: row.word("wake.verdict", WakeOutcome::parse)?,
        gates: row.text("wake.gates")?,
        at: row.millis("wake.at_ms")?,
        cause: row.word("wake.cause", |json| serde_json::from_str(json).ok())?,
        absorbed_by: row.optional_digest("wake.absorbed_by")?.map(RunKey),
    })
}

const OF_AGENT: &str = "
    SELECT run_key, agent_id, verdict, gates, at_ms, cause, absorbed_by FROM wake
    WHERE agent_id = ?1 AND at_ms >= ?2 ORDER BY at_ms DESC, run_key LIMIT ?3";

impl View<'_> {
    /// Returns wake records of an agent, newest first.
    pub fn wakes(&mut self, filter: &WakeFilter) -> Result<Vec<WakeRow>> {
        let params = [
            (&filter.agent_id).into(),
            filter.since.into(),
            limit(filter.limit),
        ];
        records(self.sql.query(OF_AGENT, &params)?, read)
    }
}

const ABSORBED: &str = "
    SELECT run_key, agent_id, verdict, gates, at_ms, cause, absorbed_by FROM wake
    WHERE absorbed_by = ?1 ORDER BY at_ms, run_key LIMIT ?2";

impl View<'_> {
    /// Returns the wake records of the messages that a run absorbed, without its own, oldest first. At most
    /// [`ROWS_MAX`](crate::ROWS_MAX).
    pub fn absorbed_by(&mut self, run: &RunKey) -> Result<Vec<WakeRow>> {
        records(self.sql.query(ABSORBED, &[run.into(), limit(ROWS_MAX)])?, read)
    }
}

const COUNT: &str = "
    INSERT INTO wake_refusal (agent_id, source, code, day, count, first_at_ms, last_at_ms) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)
    ON CONFLICT (agent_id, source, code, day) DO UPDATE SET count = wake_refusal.count + 1, last_at_ms = excluded.last_at_ms
    RETURNING count";

impl Tx<'_> {
    /// Counts a refusal, and stores its wake record until the daily limit for its kind is reached.
    pub fn record_refusal(&mut self, wake: &WakeRow) -> Result<()> {
        let source = wake.cause.origin.source();
        let params = [
            (&wake.agent_id).into(),
            source.as_str().into(),
            wake.verdict.as_str().into(),
            UtcDay::of(wake.at).0.into(),
            wake.at.into(),
        ];
        let row = at_most_one(self.sql.query(COUNT, &params)?);
        let mut row = row.ok_or(StoreError::Malformed("wake_refusal"))?;
        if row.count("wake_refusal.count")? <= REFUSALS_KEPT_MAX {
            self.put_wake(wake)?;
        }
        Ok(())
    }
}

const REFUSALS: &str = "
    SELECT agent_id, source, code, day, count, first_at_ms, last_at_ms FROM wake_refusal
    WHERE agent_id = ?1 AND day >= ?2 ORDER BY day DESC, source, code LIMIT ?3";

impl View<'_> {
    /// Returns refusals of an agent from a day on, newest day first. At most [`ROWS_MAX`](crate::ROWS_MAX).
    pub fn refusals(&mut self, agent: &AgentId, from: UtcDay) -> Result<Vec<WakeRefusalRow>> {
        let rows = self
            .sql
            .query(REFUSALS, &[agent.into(), from.0.into(), limit(ROWS_MAX)])?;
        records(rows, |mut row| {
            Ok(WakeRefusalRow {
                agent_id: row.agent_id("wake_refusal.agent_id")?,
                source: SourceName::new(row.text("wake_refusal.source")?),
                code: row.word("wake_refusal.code", WakeOutcome::parse)?,
                day: UtcDay(row.int("wake_refusal.day")?),
                count: row.count("wake_refusal.count")?,
                first_at: row.millis("wake_refusal.first_at_ms")?,
                last_at: row.millis("wake_refusal.last_at_ms")?,
            })
        })
    }
}
