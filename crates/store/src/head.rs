//! The head of an agent's log: which runner may write, and where the next event is appended.
//!
//! This is the only place where the two databases differ in more than syntax. With SQLite the home's lock
//! is the lease, so the caller is the only live runner. With PostgreSQL rows are locked explicitly, and a
//! holder counts as alive while it sends heartbeats.

use wakeful_core::id::{AgentId, Incarnation, RunnerId};
use wakeful_core::key::Digest;

use crate::rows::{Claim, Fence, LockedHead};
use crate::sql::{Dialect, Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, runner};

const CREATE: &str = "
    INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash)
    SELECT ?1, host_id || '.' || CAST(incarnation AS TEXT), NULL, 0, 1, ?2 FROM host";

/// Creates the head of a new agent.
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

/// Creates the head of the home's own log; another process may do the same concurrently. Returns whether it
/// is new.
pub(crate) fn create_home(sql: &mut dyn Sql) -> Result<bool> {
    let home = AgentId::home_log();
    let is_new = sql.execute(CREATE_HOME, &[(&home).into(), (&Digest::ZERO).into()])? == 1;
    if is_new {
        begin_incarnation(sql, &home)?;
    }
    Ok(is_new)
}

/// The incarnations of the head and of the host are read together with the holder, so comparing them needs
/// no extra query.
const HOLDER_SQLITE: &str = "
    SELECT runner_id, incarnation, (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    FROM agent_head WHERE agent_id = ?1";

const HOLDER_POSTGRES: &str = "
    SELECT runner_id, incarnation, (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)
    FROM agent_head WHERE agent_id = ?1 FOR UPDATE";

impl Tx<'_> {
    /// Claims the right to write for an agent. The new fence invalidates all older ones.
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

/// An incarnation that has written no event is replaced by the next one.
const BEGIN_LIFE: &str = "
    INSERT INTO event_incarnation (agent_id, first_seq, incarnation)
    SELECT agent_id, next_seq, incarnation FROM agent_head WHERE agent_id = ?1
    ON CONFLICT (agent_id, first_seq) DO UPDATE SET incarnation = excluded.incarnation";

/// Records the first event that the current incarnation of the host writes to a log.
fn begin_incarnation(sql: &mut dyn Sql, agent: &AgentId) -> Result<()> {
    sql.run(BEGIN_LIFE, &[agent.into()])
}

/// The head also adopts the current incarnation of the host, which a restore may have changed.
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
    /// Releases the claim if this fence still holds it.
    pub fn release_head(&mut self, agent: &AgentId, fence: Fence) -> Result<()> {
        self.sql.run(RELEASE, &[agent.into(), fence.0.into()])
    }
}

/// The fence is increased at once and not only by the next claim, because the runner presumed dead may only
/// have been suspended.
const FREE: &str = "UPDATE agent_head SET runner_id = NULL, fence = fence + 1 WHERE runner_id = ?1";

/// Releases all claims of a dead runner.
pub(crate) fn free(sql: &mut dyn Sql, runner: &RunnerId) -> Result<()> {
    sql.run(FREE, &[runner.into()])
}

const LOCK_SQLITE: &str = "
    SELECT next_seq, chain_hash, incarnation FROM agent_head WHERE agent_id = ?1 AND fence = ?2";

const LOCK_POSTGRES: &str = "
    SELECT next_seq, chain_hash, incarnation FROM agent_head WHERE agent_id = ?1 AND fence = ?2 FOR UPDATE";

impl Tx<'_> {
    /// Locks an agent's head for this transaction, before all other writes. Fails with
    /// [`StoreError::FenceLost`].
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
    /// Locks an agent's head without a fence: adding to a queue changes no run, so it needs only the next
    /// sequence number. Returns `None` if the agent does not exist.
    pub fn lock_head_to_announce(&mut self, agent: &AgentId) -> Result<Option<LockedHead>> {
        let query = self.sql.dialect().pick(ANNOUNCE_SQLITE, ANNOUNCE_POSTGRES);
        let Some(mut row) = at_most_one(self.sql.query(query, &[agent.into()])?) else {
            return Ok(None);
        };
        let mut head = read_from(&mut row)?;
        let present = Incarnation::new(row.text("host.incarnation")?);
        if head.incarnation != present {
            // A restore has changed the incarnation; two copies of a home must never write events under the
            // same names.
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
    /// Returns every agent, listed or not, with the sequence number of its newest event. At most
    /// [`ROWS_MAX`].
    pub fn heads(&mut self) -> Result<Vec<(AgentId, u64)>> {
        records(self.sql.query(ALL, &[limit(ROWS_MAX)])?, |mut row| {
            Ok((
                row.agent_id("agent_head.agent_id")?,
                row.count("agent_head.next_seq")?,
            ))
        })
    }
}

/// The sequence number never decreases.
const PUT: &str = "
    UPDATE agent_head SET next_seq = ?2, chain_hash = ?3, incarnation = ?4
    WHERE agent_id = ?1 AND next_seq <= ?2";

impl Tx<'_> {
    /// Stores a head that was advanced.
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
