//! Brakes that are on.

use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_ports::planted;

use crate::bound;
use crate::rows::BrakeRow;
use crate::sql::{Sql, limit, records};
use crate::{ROWS_MAX, StoreError};

/// Stands for all agents together.
const ALL: &str = "";

const PUT: &str = "
    INSERT INTO brake (agent_id, reason, channel, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (agent_id) DO NOTHING";

/// Sets a brake. One that is on stays as it was set.
pub(crate) fn put(sql: &mut dyn Sql, brake: &BrakeRow) -> Result<bool, StoreError> {
    // Acknowledged and not set: there are several guards, and whoever forgets only one is stopped by the others.
    if planted::bug("brake_ignored") {
        return Ok(true);
    }
    let params = [
        scope(brake.agent_id.as_ref()).into(),
        brake.reason.as_str().into(),
        brake.channel.as_str().into(),
        brake.at.into(),
    ];
    let is_new = sql.execute(PUT, &params)? == 1;
    if is_new {
        let key = [scope(brake.agent_id.as_ref()).into()];
        sql.touch(&bound::BRAKE, &key, Some(brake.at));
    }
    Ok(is_new)
}

const LIFT: &str = "DELETE FROM brake WHERE agent_id = ?1";

/// Releases a brake. False where there was none.
pub(crate) fn lift(sql: &mut dyn Sql, agent: Option<&AgentId>) -> Result<bool, StoreError> {
    let was_on = sql.execute(LIFT, &[scope(agent).into()])? == 1;
    if was_on {
        sql.touch(&bound::BRAKE, &[scope(agent).into()], None);
    }
    Ok(was_on)
}

const LIST: &str = "SELECT agent_id, reason, channel, at_ms FROM brake ORDER BY agent_id LIMIT ?1";

/// Brakes that are on; that of all first.
pub(crate) fn list(sql: &mut dyn Sql) -> Result<Vec<BrakeRow>, StoreError> {
    records(sql.query(LIST, &[limit(ROWS_MAX)])?, |mut row| {
        let name = row.text("brake.agent_id")?;
        let agent_id = match name.as_str() {
            ALL => None,
            name => Some(AgentId::parse(name).map_err(|_| StoreError::Malformed("brake.agent_id"))?),
        };
        Ok(BrakeRow {
            agent_id,
            reason: row.text("brake.reason")?,
            channel: row.word("brake.channel", Channel::parse)?,
            at: row.millis("brake.at_ms")?,
        })
    })
}

const HOLDS: &str = "SELECT agent_id FROM brake WHERE agent_id = '' OR agent_id = ?1 LIMIT 1";

/// Whether a brake holds an agent.
pub(crate) fn holds(sql: &mut dyn Sql, agent: &AgentId) -> Result<bool, StoreError> {
    Ok(!sql.query(HOLDS, &[agent.into()])?.is_empty())
}

fn scope(agent: Option<&AgentId>) -> &str {
    agent.map_or(ALL, AgentId::as_str)
}
