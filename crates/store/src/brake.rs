//! Active brakes.

use std::collections::BTreeSet;

use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::stop::StopRequest;
use wakeful_ports::planted_bugs;

use crate::rows::BrakeRow;
use crate::sql::{Sql, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, row_binding};

/// Key of the brake that applies to all agents.
const ALL: &str = "";

const PUT: &str = "
    INSERT INTO brake (agent_id, reason, channel, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (agent_id) DO NOTHING";

impl Tx<'_> {
    /// Sets a brake. A brake that is already set is not changed; returns whether it is new.
    pub fn put_brake(&mut self, brake: &BrakeRow) -> Result<bool> {
        // The planted bug acknowledges the brake without storing it. Several guards check the brake, so
        // skipping only one of them would go unnoticed.
        if planted_bugs::is_planted("brake_ignored") {
            return Ok(true);
        }
        let params = [
            scope(brake.agent_id.as_ref()).into(),
            brake.reason.as_str().into(),
            brake.channel.as_str().into(),
            brake.at.into(),
        ];
        let is_new = self.sql.execute(PUT, &params)? == 1;
        if is_new {
            let key = [scope(brake.agent_id.as_ref()).into()];
            self.sql.touch(&row_binding::BRAKE, &key, Some(brake.at));
        }
        Ok(is_new)
    }
}

const LIFT: &str = "DELETE FROM brake WHERE agent_id = ?1";

impl Tx<'_> {
    /// Returns false if the brake was not set.
    pub fn release_brake(&mut self, agent: Option<&AgentId>) -> Result<bool> {
        let was_on = self.sql.execute(LIFT, &[scope(agent).into()])? == 1;
        if was_on {
            self.sql.touch(&row_binding::BRAKE, &[scope(agent).into()], None);
        }
        Ok(was_on)
    }
}

const LIST: &str = "SELECT agent_id, reason, channel, at_ms FROM brake ORDER BY agent_id LIMIT ?1";

impl View<'_> {
    /// Returns the active brakes; the one for all agents comes first.
    pub fn brakes(&mut self) -> Result<Vec<BrakeRow>> {
        let mut rows = records(self.sql.query(LIST, &[limit(ROWS_MAX)])?, |mut row| {
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
        })?;
        let stored: BTreeSet<Option<AgentId>> = rows.iter().map(|row| row.agent_id.clone()).collect();
        let unstored = self.stops.as_ref().map(|stops| stops.unstored_brakes(&stored));
        rows.extend(unstored.unwrap_or_default().into_iter().filter_map(brake_row));
        rows.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
        Ok(rows)
    }
}

const HOLDS: &str = "SELECT agent_id FROM brake WHERE agent_id = '' OR agent_id = ?1 LIMIT 1";

impl View<'_> {
    /// Whether a brake applies to an agent.
    pub fn is_braked(&mut self, agent: &AgentId) -> Result<bool> {
        Ok(self.is_brake_pending(agent) || !self.sql.query(HOLDS, &[agent.into()])?.is_empty())
    }
}

fn scope(agent: Option<&AgentId>) -> &str {
    agent.map_or(ALL, AgentId::as_str)
}

/// Converts a pending brake request to a row; returns `None` for other requests.
fn brake_row(request: StopRequest) -> Option<BrakeRow> {
    let agent_id = request.target.scope()?.cloned();
    Some(BrakeRow {
        agent_id,
        reason: request.reason,
        channel: request.channel,
        at: request.at,
    })
}
