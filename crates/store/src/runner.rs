//! Runners: the processes that may hold claims on agents, and whether they are alive.
//!
//! A runner on PostgreSQL sends a heartbeat every [`HEARTBEAT_MS`]; without one for [`LEASE_MS`] it counts
//! as dead. Both are measured by the clock of the database, because the machines' own clocks may disagree.

use std::sync::Mutex;

use wakeful_core::id::RunnerId;

use crate::lock::locked;
use crate::rows::Runner;
use crate::sql::{Dialect, Row, Sql, limit, records};
use crate::{ROWS_MAX, Result, Tx, View, head};

/// Interval between heartbeats.
pub const HEARTBEAT_MS: u64 = 5_000;

/// A runner without a heartbeat for this long counts as dead: two heartbeats may be lost if the third
/// arrives in time.
pub const LEASE_MS: u64 = 15_000;

/// A runner without a heartbeat for this long is deleted. Its lease expired long before; until then it
/// stays listed for diagnosis.
pub const SILENCE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
const _: () = assert!(LEASE_MS < SILENCE_MS_MAX, "only dead runners are deleted");

/// Maximum number of runners that one registration deletes. It adds one row, so any larger number lets the
/// table shrink.
const FORGOTTEN_MAX: u32 = 16;

/// SQLite uses no heartbeats and reads no clock: simulations must be deterministic.
const REGISTER_SQLITE: &str = "
    INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms) VALUES (?1, ?2, ?3, ?4, 0)
    ON CONFLICT (runner_id) DO UPDATE SET
        machine = excluded.machine, pid = excluded.pid, pid_start_time = excluded.pid_start_time";

/// `clock_timestamp` instead of `now`, which is the start of the transaction.
const REGISTER_POSTGRES: &str = "
    INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms)
    VALUES (?1, ?2, ?3, ?4, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT))
    ON CONFLICT (runner_id) DO UPDATE SET machine = excluded.machine, pid = excluded.pid,
        pid_start_time = excluded.pid_start_time, heartbeat_at_ms = excluded.heartbeat_at_ms";

impl Tx<'_> {
    /// Registers this process and deletes runners without a heartbeat for [`SILENCE_MS_MAX`]. On PostgreSQL
    /// this is also its first heartbeat.
    pub fn register_runner(&mut self, runner: &Runner) -> Result<()> {
        let query = self.sql.dialect().pick(REGISTER_SQLITE, REGISTER_POSTGRES);
        let params = [
            (&runner.runner_id).into(),
            runner.machine.as_str().into(),
            runner.pid.into(),
            runner.pid_started.into(),
        ];
        self.sql.execute(query, &params)?;
        self.delete_expired()?;
        self.registered = Some(runner.runner_id.clone());
        Ok(())
    }
}

/// Locked rows are skipped: another registration is deleting them, or a late heartbeat has arrived.
const SILENT: &str = "
    SELECT runner_id FROM runner
    WHERE heartbeat_at_ms < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - ?1
    ORDER BY heartbeat_at_ms LIMIT ?2 FOR UPDATE SKIP LOCKED";

impl Tx<'_> {
    /// Deletes runners whose leases expired so long ago that they no longer matter, so that the table stays
    /// small. SQLite has no heartbeats: there the home's lock determines which process is alive.
    fn delete_expired(&mut self) -> Result<()> {
        if self.sql.dialect() == Dialect::Sqlite {
            return Ok(());
        }
        let silent = self
            .sql
            .query(SILENT, &[SILENCE_MS_MAX.into(), FORGOTTEN_MAX.into()])?;
        for mut row in silent {
            self.remove_dead_runner(&RunnerId::new(row.text("runner.runner_id")?))?;
        }
        Ok(())
    }
}

const BEAT: &str = "
    UPDATE runner SET heartbeat_at_ms = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)
    WHERE runner_id = ?1";

/// Stores a heartbeat. Returns false if the runner was removed.
pub(crate) fn heartbeat(sql: &mut dyn Sql, runner: &RunnerId) -> Result<bool> {
    Ok(sql.execute(BEAT, &[runner.into()])? == 1)
}

const EXPIRE: &str = "
    DELETE FROM runner WHERE runner_id = ?1
        AND heartbeat_at_ms < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - ?2";

const REGISTERED: &str = "SELECT pid FROM runner WHERE runner_id = ?1";

/// Whether a runner sent a heartbeat within its lease. If not, its row is deleted: should it only have been
/// suspended, its next heartbeat finds no row, so it cannot trust its lease after another runner has
/// claimed its agents.
pub(crate) fn confirm_alive(sql: &mut dyn Sql, runner: &RunnerId) -> Result<bool> {
    sql.execute(EXPIRE, &[runner.into(), LEASE_MS.into()])?;
    Ok(!sql.query(REGISTERED, &[runner.into()])?.is_empty())
}

const DELETE_ONE: &str = "DELETE FROM runner WHERE runner_id = ?1";

impl Tx<'_> {
    /// Removes a dead runner and releases its claims.
    pub fn remove_dead_runner(&mut self, runner: &RunnerId) -> Result<()> {
        self.sql.execute(DELETE_ONE, &[runner.into()])?;
        head::free(&mut self.sql, runner)
    }
}

const ALL: &str = "SELECT runner_id, machine, pid, pid_start_time FROM runner ORDER BY runner_id LIMIT ?1";

impl View<'_> {
    /// Returns the registered runners.
    pub fn runners(&mut self) -> Result<Vec<Runner>> {
        records(self.sql.query(ALL, &[limit(ROWS_MAX)])?, read)
    }
}

fn read(mut row: Row) -> Result<Runner> {
    Ok(Runner {
        runner_id: RunnerId::new(row.text("runner.runner_id")?),
        machine: row.text("runner.machine")?,
        pid: row.small_count("runner.pid")?,
        pid_started: row.count("runner.pid_start_time")?,
    })
}

/// The runner that this store registered, so that closing the store can unregister it.
#[derive(Debug, Default)]
pub(crate) struct RegisteredRunner(Mutex<Option<RunnerId>>);

impl RegisteredRunner {
    /// Sets the runner after its registration is durable.
    pub(crate) fn note(&self, runner: Option<RunnerId>) {
        if runner.is_some() {
            *locked(&self.0) = runner;
        }
    }

    /// Returns the runner and clears it.
    pub(crate) fn take(&self) -> Option<RunnerId> {
        locked(&self.0).take()
    }
}
