//! Runners: the processes that may hold agents, and whether they still live.
//!
//! A runner on PostgreSQL beats every [`HEARTBEAT_MS`]; one that has not for [`LEASE_MS`] is dead. Both are judged by
//! the clock of the database, because the machines' own clocks may disagree.

use std::sync::Mutex;

use wakeful_core::id::RunnerId;

use crate::lock::locked;
use crate::rows::Runner;
use crate::sql::{Dialect, Row, Sql, limit, records};
use crate::{ROWS_MAX, Result, Tx, View, head};

/// Between two beats.
pub const HEARTBEAT_MS: u64 = 5_000;

/// After this long without a beat a runner is dead: two beats may be lost and the third still come in time.
pub const LEASE_MS: u64 = 15_000;

/// After this long without a beat a runner is forgotten. Its lease ran out long before; until then it can still be
/// listed by somebody who wants to know what became of it.
pub const SILENCE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
const _: () = assert!(LEASE_MS < SILENCE_MS_MAX, "only the dead are forgotten");

/// Runners that one registration forgets at most. It brings one row, so any number above that lets the table shrink.
const FORGOTTEN_MAX: u32 = 16;

/// With SQLite nobody beats, and no clock is read: a simulation must be the same every time.
const REGISTER_SQLITE: &str = "
    INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms) VALUES (?1, ?2, ?3, ?4, 0)
    ON CONFLICT (runner_id) DO UPDATE SET
        machine = excluded.machine, pid = excluded.pid, pid_start_time = excluded.pid_start_time";

/// `clock_timestamp` and not `now`: the latter is when the transaction began.
const REGISTER_POSTGRES: &str = "
    INSERT INTO runner (runner_id, machine, pid, pid_start_time, heartbeat_at_ms)
    VALUES (?1, ?2, ?3, ?4, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT))
    ON CONFLICT (runner_id) DO UPDATE SET machine = excluded.machine, pid = excluded.pid,
        pid_start_time = excluded.pid_start_time, heartbeat_at_ms = excluded.heartbeat_at_ms";

impl Tx<'_> {
    /// Registers this process, and forgets those that have long been silent. On PostgreSQL that is also its first beat.
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

/// Rows that are locked are left to whoever is at them: another registration, or a beat that has come after all.
const SILENT: &str = "
    SELECT runner_id FROM runner
    WHERE heartbeat_at_ms < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - ?1
    ORDER BY heartbeat_at_ms LIMIT ?2 FOR UPDATE SKIP LOCKED";

impl Tx<'_> {
    /// Removes runners that have been silent for so long that their leases no longer matter, so that the table stays small.
    /// SQLite has no heartbeats: there the home's lock says which process lives.
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

/// Says that a runner lives. False when it was buried meanwhile.
pub(crate) fn heartbeat(sql: &mut dyn Sql, runner: &RunnerId) -> Result<bool> {
    Ok(sql.execute(BEAT, &[runner.into()])? == 1)
}

const EXPIRE: &str = "
    DELETE FROM runner WHERE runner_id = ?1
        AND heartbeat_at_ms < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - ?2";

const REGISTERED: &str = "SELECT pid FROM runner WHERE runner_id = ?1";

/// Whether a runner has beaten within its lease. One that has not is struck off: should it only have slept, its next
/// beat finds no row, and it cannot take its lease for a living one after somebody else has taken its agents.
pub(crate) fn confirm_alive(sql: &mut dyn Sql, runner: &RunnerId) -> Result<bool> {
    sql.execute(EXPIRE, &[runner.into(), LEASE_MS.into()])?;
    Ok(!sql.query(REGISTERED, &[runner.into()])?.is_empty())
}

const BURY: &str = "DELETE FROM runner WHERE runner_id = ?1";

impl Tx<'_> {
    /// Removes a runner that is known to be dead, and frees what it held.
    pub fn remove_dead_runner(&mut self, runner: &RunnerId) -> Result<()> {
        self.sql.execute(BURY, &[runner.into()])?;
        head::free(&mut self.sql, runner)
    }
}

const ALL: &str = "SELECT runner_id, machine, pid, pid_start_time FROM runner ORDER BY runner_id LIMIT ?1";

impl View<'_> {
    /// The runners that are registered.
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

/// The runner that this store registered, so that closing it can take the name back.
#[derive(Debug, Default)]
pub(crate) struct RegisteredRunner(Mutex<Option<RunnerId>>);

impl RegisteredRunner {
    /// Notes a runner whose registration is durable.
    pub(crate) fn note(&self, runner: Option<RunnerId>) {
        if runner.is_some() {
            *locked(&self.0) = runner;
        }
    }

    /// The runner, which is then no longer noted.
    pub(crate) fn take(&self) -> Option<RunnerId> {
        locked(&self.0).take()
    }
}
