//! The event table. Events arrive already chained; this module only stores them.

use wakeful_core::audit;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::RunKey;
use wakeful_core::report::Event;

use crate::rows::EventRow;
use crate::sql::{Row, Sql, limit, records};
use crate::{Result, StoreError, Tx, View, audit_entry};

const APPEND: &str = "
    INSERT INTO event (agent_id, seq, run_key, kind, at_ms, hash, payload_hash, policy_version, payload, salt)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (agent_id, seq) DO NOTHING";

impl Tx<'_> {
    /// Appends an event that already has its sequence number, and its audit entry if it has one.
    pub fn append_event(&mut self, agent: &AgentId, event: &Event) -> Result<()> {
        self.sql.note_time(event.sealed.at);
        let sealed = &event.sealed;
        let params = [
            agent.into(),
            event.seq.into(),
            sealed.run_key.as_ref().into(),
            sealed.kind.as_str().into(),
            sealed.at.into(),
            (&event.hash).into(),
            (&sealed.payload_hash).into(),
            sealed
                .policy_version
                .as_ref()
                .map_or("", PolicyVersion::as_str)
                .into(),
            sealed.payload.as_slice().into(),
            sealed.salt.as_slice().into(),
        ];
        self.sql.run_once(APPEND, &params)?;
        match audit::entry(agent, event) {
            Some(entry) => audit_entry::insert(&mut self.sql, &entry),
            None => Ok(()),
        }
    }
}

const AFTER: &str = "
    SELECT seq, run_key, kind, at_ms, hash, payload_hash, policy_version, payload, salt
    FROM event WHERE agent_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

impl View<'_> {
    /// Returns events of an agent after a sequence number, oldest first.
    pub fn events(&mut self, agent: &AgentId, seq: u64, at_most: u32) -> Result<Vec<EventRow>> {
        records(
            self.sql
                .query(AFTER, &[agent.into(), seq.into(), limit(at_most)])?,
            read,
        )
    }
}

const BEFORE: &str = "
    SELECT seq, run_key, kind, at_ms, hash, payload_hash, policy_version, payload, salt
    FROM event WHERE agent_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

impl View<'_> {
    /// Returns the newest events of an agent before a sequence number, oldest first.
    pub fn events_before(&mut self, agent: &AgentId, seq: u64, at_most: u32) -> Result<Vec<EventRow>> {
        let rows = self
            .sql
            .query(BEFORE, &[agent.into(), seq.into(), limit(at_most)])?;
        let mut events = records(rows, read)?;
        events.reverse();
        Ok(events)
    }
}

fn read(mut row: Row) -> Result<EventRow> {
    Ok(EventRow {
        seq: row.count("event.seq")?,
        run_key: row.optional_digest("event.run_key")?.map(RunKey),
        kind: row.text("event.kind")?,
        at: row.millis("event.at_ms")?,
        hash: row.digest("event.hash")?,
        payload_hash: row.digest("event.payload_hash")?,
        policy_version: row.text("event.policy_version")?,
        payload: payload(
            row.optional_bytes("event.payload")?,
            row.optional_bytes("event.salt")?,
        )?,
    })
}

type Payload = (Vec<u8>, [u8; 32]);

/// Payload and salt are both present or both erased.
fn payload(payload: Option<Vec<u8>>, salt: Option<Vec<u8>>) -> Result<Option<Payload>> {
    match (payload, salt) {
        (None, None) => Ok(None),
        (Some(payload), Some(salt)) => {
            let salt = salt.try_into().map_err(|_| StoreError::Malformed("event.salt"))?;
            Ok(Some((payload, salt)))
        }
        (Some(_), None) | (None, Some(_)) => Err(StoreError::Malformed("event.salt")),
    }
}
