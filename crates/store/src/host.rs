//! The host that owns the database, and its incarnation.

use wakeful_core::id::Incarnation;
use wakeful_core::time::Millis;

use crate::sql::{Sql, at_most_one};
use crate::{Result, StoreError, Tx, View, row_binding};

/// Inserts the host with incarnation 1, unless one exists.
const FOUND: &str = "
    INSERT INTO host (row_id, host_id, incarnation) VALUES (1, ?1, 1)
    ON CONFLICT (row_id) DO NOTHING";

/// Sets the host of a new database. An existing host is kept.
pub(crate) fn found(sql: &mut dyn Sql, host_id: &str) -> Result<()> {
    sql.execute(FOUND, &[host_id.into()]).map(drop)
}

const INCARNATION: &str = "SELECT host_id, incarnation FROM host";

impl View<'_> {
    /// Returns the host with its incarnation, as used in event hashes.
    pub fn incarnation(&mut self) -> Result<Incarnation> {
        let rows = self.sql.query(INCARNATION, &[])?;
        let mut row = at_most_one(rows).ok_or(StoreError::Malformed("host"))?;
        let host_id = row.text("host.host_id")?;
        let number = row.int("host.incarnation")?;
        Ok(Incarnation::new(format!("{host_id}.{number}")))
    }
}

const REBORN: &str = "UPDATE host SET incarnation = ?1 WHERE row_id = 1 AND incarnation < ?1";

/// Existing claims belong to an earlier incarnation, perhaps on another machine. Each head adopts the new
/// incarnation with the first write to it.
const FREE_ALL: &str = "UPDATE agent_head SET runner_id = NULL, fence = fence + 1";

const FORGET_RUNNERS: &str = "DELETE FROM runner";

/// Sets a new incarnation. Its number must be higher than all earlier ones.
pub(crate) fn set_incarnation(sql: &mut dyn Sql, number: i64) -> Result<()> {
    match sql.execute(REBORN, &[number.into()])? {
        1 => Ok(()),
        _ => Err(StoreError::Malformed("host.incarnation")),
    }
}

impl Tx<'_> {
    /// Starts a new incarnation of this database after a restore: all claims are released, and later events
    /// are chained under a name that was never used. The number must be higher than all earlier ones.
    pub fn begin_incarnation(&mut self, number: i64, at: Millis) -> Result<Incarnation> {
        self.sql.touch(&row_binding::HOST, &[1_i64.into()], Some(at));
        set_incarnation(&mut self.sql, number)?;
        self.sql.execute(FREE_ALL, &[])?;
        self.sql.execute(FORGET_RUNNERS, &[])?;
        self.incarnation()
    }
}

const HOST_ID: &str = "SELECT host_id FROM host";

/// Returns the host id without its incarnation.
pub(crate) fn host_id(sql: &mut dyn Sql) -> Result<String> {
    let rows = sql.query(HOST_ID, &[])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("host"))?;
    row.text("host.host_id")
}
