//! The head of an agent's log: who may write, and where the next event goes.
//!
//! This is the one place where the databases are told apart by more than spelling. With SQLite the home's
//! lock is the lease, so whoever asks is the only one alive. With PostgreSQL rows are locked explicitly, and
//! a holder counts as alive while it beats.

use wakeful_core::id::{AgentId, Incarnation, RunnerId};
use wakeful_core::key::Digest;

use crate::rows::{Claim, Fence, LockedHead};
use crate::sql::{Dialect, Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, runner};

const CREATE: &str = "
    INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash)
    SELECT ?1, host_id || '.' || CAST(incarnation AS TEXT), NULL, 0, 1, ?2 FROM host";

/// The head of an agent that has done nothing yet.
pub(crate) fn create(sql: &mut dyn Sql, agent: &AgentId) -> Result<()> {
    match sql.execute(CREATE, &[agent.into(), (&Digest::ZERO).into()])? {
        1 => begin_incarnation(sql, agent),
        _ => Err(StoreError::Malformed("host")),
    }
}

const CREATE_HOME: &str = "
    INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash)
    SELECT ?1, host_id || '.' || CAST(incarnation AS TEXT), NULL, 0, 1, ?2 FROM host WHERE row_id = 1
    ON CONFLICT (agent_id) DO NOTHING";

/// The head of the home's own log. Another process may make it at the same moment. Whether it is new.
pub(crate) fn create_home(sql: &mut dyn Sql) -> Result<bool> {
    let home = AgentId::home_log();
    let is_new = sql.execute(CREATE_HOME, &[(&home).into(), (&Digest::ZERO).into()])? == 1;
    if is_new {
        begin_incarnation(sql, &home)?;
    }
    Ok(is_new)
}

/// The life of the head and that of its host are told beside who holds it: then it costs nothing to compare them.
const HOLDER_SQLITE: &str = "
    SELECT runner_id, incarnation, (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    FROM agent_head WHERE agent_id = ?1";

const HOLDER_POSTGRES: &str = "
    SELECT runner_id, incarnation, (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    FROM agent_head WHERE agent_id = ?1 FOR UPDATE";

impl Tx<'_> {
    /// Takes the right to write for an agent; a new fence makes every older one worthless.
    pub fn claim_head(&mut self, agent: &AgentId, runner: &RunnerId) -> Result<Claim> {
        let query = self.sql.dialect().pick(HOLDER_SQLITE, HOLDER_POSTGRES);
        let rows = self.sql.query(query, &[agent.into()])?;
        let mut row = at_most_one(rows).ok_or(StoreError::Malformed("agent_head.agent_id"))?;
        let holder = row.optional_text("agent_head.runner_id")?.map(RunnerId::new);
        let is_present = row.text("agent_head.incarnation")? == row.text("host.incarnation")?;
        let other = holder.filter(|holder| holder != runner);
        match (self.sql.dialect(), other) {
            (Dialect::Postgres, Some(by)) if runner::confirm_alive(&mut self.sql, &by)? => {
                Ok(Claim::Held { by })
            }
            (Dialect::Postgres | Dialect::Sqlite, _) => {
                let claim = take(&mut self.sql, agent, runner)?;
                if !is_present {
                    begin_incarnation(&mut self.sql, agent)?;
                }
                Ok(claim)
            }
        }
    }
}

/// A life that has written nothing gives its place to the next.
const BEGIN_LIFE: &str = "
    INSERT INTO event_incarnation (agent_id, first_seq, incarnation)
    SELECT agent_id, next_seq, incarnation FROM agent_head WHERE agent_id = ?1
    ON CONFLICT (agent_id, first_seq) DO UPDATE SET incarnation = excluded.incarnation";

/// Keeps from which event on the present life of the host writes a log.
fn begin_incarnation(sql: &mut dyn Sql, agent: &AgentId) -> Result<()> {
    sql.run(BEGIN_LIFE, &[agent.into()])
}

/// The head also moves into the present life of the host, which a restore may have changed since.
const TAKE: &str = "
    UPDATE agent_head SET runner_id = ?2, fence = fence + 1,
        incarnation = (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    WHERE agent_id = ?1
    RETURNING fence";

fn take(sql: &mut dyn Sql, agent: &AgentId, runner: &RunnerId) -> Result<Claim> {
    let rows = sql.query(TAKE, &[agent.into(), runner.into()])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("agent_head.agent_id"))?;
    row.int("agent_head.fence").map(|fence| Claim::Won(Fence(fence)))
}

const RELEASE: &str = "UPDATE agent_head SET runner_id = NULL WHERE agent_id = ?1 AND fence = ?2";

impl Tx<'_> {
    /// Gives the right back, if this fence still holds it.
    pub fn release_head(&mut self, agent: &AgentId, fence: Fence) -> Result<()> {
        self.sql.run(RELEASE, &[agent.into(), fence.0.into()])
    }
}

/// A new fence at once and not only with the next claim: what was taken to be dead may only have slept.
const FREE: &str = "UPDATE agent_head SET runner_id = NULL, fence = fence + 1 WHERE runner_id = ?1";

/// Frees all that a dead runner held.
pub(crate) fn free(sql: &mut dyn Sql, runner: &RunnerId) -> Result<()> {
    sql.run(FREE, &[runner.into()])
}

const LOCK_SQLITE: &str = "
    SELECT next_seq, chain_hash, incarnation FROM agent_head WHERE agent_id = ?1 AND fence = ?2";

const LOCK_POSTGRES: &str = "
    SELECT next_seq, chain_hash, incarnation FROM agent_head WHERE agent_id = ?1 AND fence = ?2 FOR UPDATE";

impl Tx<'_> {
    /// Locks an agent's head for this transaction. First of all writes; fails with [`StoreError::FenceLost`].
    pub fn lock_head(&mut self, agent: &AgentId, fence: Fence) -> Result<LockedHead> {
        let query = self.sql.dialect().pick(LOCK_SQLITE, LOCK_POSTGRES);
        let rows = self.sql.query(query, &[agent.into(), fence.0.into()])?;
        at_most_one(rows).map_or_else(|| Err(StoreError::FenceLost(agent.clone())), read)
    }
}

const ANNOUNCE_SQLITE: &str = "
    SELECT next_seq, chain_hash, incarnation, (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    FROM agent_head WHERE agent_id = ?1";

const ANNOUNCE_POSTGRES: &str = "
    SELECT next_seq, chain_hash, incarnation, (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    FROM agent_head WHERE agent_id = ?1 FOR UPDATE";

const REVIVE: &str = "UPDATE agent_head SET incarnation = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Locks an agent's head without a fence: what enters a queue changes no run, so it needs only the next sequence
    /// number. None when there is no such agent.
    pub fn lock_head_to_announce(&mut self, agent: &AgentId) -> Result<Option<LockedHead>> {
        let query = self.sql.dialect().pick(ANNOUNCE_SQLITE, ANNOUNCE_POSTGRES);
        let Some(mut row) = at_most_one(self.sql.query(query, &[agent.into()])?) else {
            return Ok(None);
        };
        let mut head = read_from(&mut row)?;
        let present = Incarnation::new(row.text("host.incarnation")?);
        if head.incarnation != present {
            // A restore has changed it since; two copies that go on must never write the same names.
            self.sql.execute(REVIVE, &[agent.into(), (&present).into()])?;
            begin_incarnation(&mut self.sql, agent)?;
            head.incarnation = present;
        }
        Ok(Some(head))
    }
}

fn read(mut row: Row) -> Result<LockedHead> {
    read_from(&mut row)
}

fn read_from(row: &mut Row) -> Result<LockedHead> {
    Ok(LockedHead {
        next_seq: row.count("agent_head.next_seq")?,
        chain_hash: row.digest("agent_head.chain_hash")?,
        incarnation: Incarnation::new(row.text("agent_head.incarnation")?),
    })
}

const ALL: &str =
    "SELECT agent_id, next_seq - 1 FROM agent_head WHERE agent_id <> '~home' ORDER BY agent_id LIMIT ?1";

impl View<'_> {
    /// Every agent, listed or not, with the number of its newest event. At most [`ROWS_MAX`].
    pub fn heads(&mut self) -> Result<Vec<(AgentId, u64)>> {
        records(self.sql.query(ALL, &[limit(ROWS_MAX)])?, |mut row| {
            Ok((
                row.agent_id("agent_head.agent_id")?,
                row.count("agent_head.next_seq")?,
            ))
        })
    }
}

/// A sequence never goes back, whoever asks for it.
const PUT: &str = "
    UPDATE agent_head SET next_seq = ?2, chain_hash = ?3, incarnation = ?4
    WHERE agent_id = ?1 AND next_seq <= ?2";

impl Tx<'_> {
    /// Stores a head that was moved on.
    pub fn put_head(&mut self, agent: &AgentId, head: &LockedHead) -> Result<()> {
        let params = [
            agent.into(),
            head.next_seq.into(),
            (&head.chain_hash).into(),
            (&head.incarnation).into(),
        ];
        self.sql.run_once(PUT, &params)
    }
}
