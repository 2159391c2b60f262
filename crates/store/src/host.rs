//! Whose database it is.

use wakeful_core::id::{AgentId, Incarnation};
use wakeful_ports::care::PastLife;
use wakeful_ports::store::{ROWS_MAX, StoreError};

use crate::sql::{Sql, at_most_one, limit, records};

/// The first life of a host that has no other yet.
const FOUND: &str = "
    INSERT INTO host (row_id, host_id, incarnation) VALUES (1, ?1, 1)
    ON CONFLICT (row_id) DO NOTHING";

/// Gives a fresh database its host. One that has a host keeps it.
pub(crate) fn found(sql: &mut dyn Sql, host_id: &str) -> Result<(), StoreError> {
    sql.execute(FOUND, &[host_id.into()]).map(drop)
}

const INCARNATION: &str = "SELECT host_id, incarnation FROM host";

/// The host and its life, as it enters event hashes.
pub(crate) fn incarnation(sql: &mut dyn Sql) -> Result<Incarnation, StoreError> {
    let rows = sql.query(INCARNATION, &[])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("host"))?;
    let host_id = row.text("host.host_id")?;
    let number = row.int("host.incarnation")?;
    Ok(Incarnation::new(format!("{host_id}.{number}")))
}

/// The life that ends is kept for every agent that has events of it.
const REMEMBER: &str = "
    INSERT INTO past_life (agent_id, before_seq, incarnation)
    SELECT agent_id, next_seq, incarnation FROM agent_head WHERE next_seq > 1
    ON CONFLICT (agent_id, before_seq) DO NOTHING";

const REBORN: &str = "UPDATE host SET incarnation = ?1 WHERE row_id = 1 AND incarnation < ?1";

/// At once and not with the next claim: what is announced before it belongs to the new life as well.
const MOVE_ON: &str = "
    UPDATE agent_head SET runner_id = NULL, fence = fence + 1,
        incarnation = (SELECT host_id || '.' || CAST(incarnation AS TEXT) FROM host)";

const FORGET_RUNNERS: &str = "DELETE FROM runner";

/// Begins a new life. Its number must be higher than all before it.
pub(crate) fn begin_life(sql: &mut dyn Sql, number: i64) -> Result<Incarnation, StoreError> {
    sql.execute(REMEMBER, &[])?;
    if sql.execute(REBORN, &[number.into()])? != 1 {
        return Err(StoreError::Malformed("host.incarnation"));
    }
    sql.execute(MOVE_ON, &[])?;
    sql.execute(FORGET_RUNNERS, &[])?;
    incarnation(sql)
}

const PAST: &str = "
    SELECT before_seq, incarnation FROM past_life WHERE agent_id = ?1 ORDER BY before_seq LIMIT ?2";

/// The lives that an agent has seen before the present one, oldest first.
pub(crate) fn past_lives(sql: &mut dyn Sql, agent: &AgentId) -> Result<Vec<PastLife>, StoreError> {
    records(sql.query(PAST, &[agent.into(), limit(ROWS_MAX)])?, |mut row| {
        Ok(PastLife {
            before_seq: row.count("past_life.before_seq")?,
            incarnation: Incarnation::new(row.text("past_life.incarnation")?),
        })
    })
}
