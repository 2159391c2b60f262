//! The data that proves a log: its end, the incarnations of the host that wrote it, and the signed heads.

use wakeful_core::id::{AgentId, Incarnation};
use wakeful_core::key::RunKey;
use wakeful_core::proof::chain::{ChainPosition, IncarnationStart};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::{PublicKey, Signature};
use wakeful_core::time::Millis;

use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View};

const LOGS: &str = "
    SELECT agent_id, next_seq - 1, chain_hash FROM agent_head WHERE agent_id > ?1 ORDER BY agent_id LIMIT ?2";

impl View<'_> {
    /// Returns every agent after one, by name, listed or not, with the end of its log.
    pub fn logs(&mut self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<(AgentId, ChainPosition)>> {
        let after = after.map_or("", AgentId::as_str);
        records(
            self.sql.query(LOGS, &[after.into(), limit(at_most)])?,
            named_place,
        )
    }
}

fn named_place(mut row: Row) -> Result<(AgentId, ChainPosition)> {
    Ok((row.log_id("agent_head.agent_id")?, place(&mut row)?))
}

const LOG_END: &str = "SELECT next_seq - 1, chain_hash FROM agent_head WHERE agent_id = ?1";

impl View<'_> {
    /// Returns the end of an agent's log, or `None` if the agent does not exist.
    pub fn log_end(&mut self, agent: &AgentId) -> Result<Option<ChainPosition>> {
        let rows = self.sql.query(LOG_END, &[agent.into()])?;
        at_most_one(rows).map(|mut row| place(&mut row)).transpose()
    }
}

fn place(row: &mut Row) -> Result<ChainPosition> {
    Ok(ChainPosition {
        seq: row.count("agent_head.next_seq")?,
        hash: row.digest("agent_head.chain_hash")?,
    })
}

const LIVES: &str = "
    SELECT first_seq, incarnation FROM event_incarnation WHERE agent_id = ?1 ORDER BY first_seq LIMIT ?2";

impl View<'_> {
    /// Returns the incarnations of the host that wrote an agent's log, oldest first.
    pub fn incarnations(&mut self, agent: &AgentId) -> Result<Vec<IncarnationStart>> {
        let rows = self.sql.query(LIVES, &[agent.into(), limit(ROWS_MAX)])?;
        records(rows, |mut row| {
            Ok(IncarnationStart {
                first_seq: row.count("event_incarnation.first_seq")?,
                incarnation: Incarnation::new(row.text("event_incarnation.incarnation")?),
            })
        })
    }
}

const SINCE: &str = "SELECT MIN(seq) FROM event WHERE agent_id = ?1 AND at_ms >= ?2";

impl View<'_> {
    /// Returns the first event of an agent at or after a time.
    pub fn first_event_since(&mut self, agent: &AgentId, at: Millis) -> Result<Option<u64>> {
        let rows = self.sql.query(SINCE, &[agent.into(), at.into()])?;
        let seq = at_most_one(rows).map(|mut row| row.optional_int("event.seq"));
        Ok(seq.transpose()?.flatten().and_then(|seq| u64::try_from(seq).ok()))
    }
}

const SPAN: &str = "SELECT MIN(seq), MAX(seq) FROM event WHERE agent_id = ?1 AND run_key = ?2";

impl View<'_> {
    /// Returns the first and the last event of a run.
    pub fn run_span(&mut self, agent: &AgentId, run: &RunKey) -> Result<Option<(u64, u64)>> {
        let rows = self.sql.query(SPAN, &[agent.into(), run.into()])?;
        let Some(mut row) = at_most_one(rows) else {
            return Ok(None);
        };
        let (first, last) = (row.optional_int("event.seq")?, row.optional_int("event.seq")?);
        let count = |seq: i64| u64::try_from(seq).map_err(|_| StoreError::Malformed("event.seq"));
        match (first, last) {
            (Some(first), Some(last)) => Ok(Some((count(first)?, count(last)?))),
            (Some(_), None) | (None, Some(_)) | (None, None) => Ok(None),
        }
    }
}

const PUT: &str = "
    INSERT INTO signed_head (agent_id, seq, public_key, chain_hash, signed_at_ms, signature)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (agent_id, seq, public_key) DO NOTHING";

impl Tx<'_> {
    /// Stores a signed head; does nothing if it exists.
    pub fn put_signed_head(&mut self, head: &SignedHead) -> Result<()> {
        let params = [
            (&head.agent_id).into(),
            head.seq.into(),
            head.public_key.as_bytes().as_slice().into(),
            (&head.chain_hash).into(),
            head.signed_at.into(),
            head.signature.as_bytes().as_slice().into(),
        ];
        self.sql.execute(PUT, &params).map(drop)
    }
}

const AFTER: &str = "
    SELECT agent_id, seq, public_key, chain_hash, signed_at_ms, signature
    FROM signed_head WHERE agent_id = ?1 AND seq > ?2 ORDER BY seq, public_key LIMIT ?3";

impl View<'_> {
    /// Returns signed heads of an agent after an event, oldest first.
    pub fn signed_heads(&mut self, agent: &AgentId, after_seq: u64, at_most: u32) -> Result<Vec<SignedHead>> {
        let rows = self
            .sql
            .query(AFTER, &[agent.into(), after_seq.into(), limit(at_most)])?;
        records(rows, read)
    }
}

/// Starts from the agents, because the number of signed heads is unbounded.
const NEWEST: &str = "
    SELECT s.agent_id, s.seq, s.public_key, s.chain_hash, s.signed_at_ms, s.signature
    FROM agent_head h JOIN signed_head s
        ON s.agent_id = h.agent_id AND s.seq = (SELECT MAX(n.seq) FROM signed_head n WHERE n.agent_id = h.agent_id)
    ORDER BY s.agent_id, s.public_key LIMIT ?1";

impl View<'_> {
    /// Returns the newest signed head of every agent, by name. At most [`ROWS_MAX`](super::ROWS_MAX).
    pub fn newest_heads(&mut self) -> Result<Vec<SignedHead>> {
        records(self.sql.query(NEWEST, &[limit(ROWS_MAX)])?, read)
    }
}

const UNSIGNED: &str = "
    SELECT h.agent_id, h.next_seq - 1, h.chain_hash FROM agent_head h
    WHERE h.agent_id > ?2 AND h.next_seq > 1 AND NOT EXISTS (
        SELECT 1 FROM signed_head s
        WHERE s.agent_id = h.agent_id AND s.seq = h.next_seq - 1 AND s.public_key = ?1)
    ORDER BY h.agent_id LIMIT ?3";

impl View<'_> {
    /// Returns agents after one, by name, whose newest event this key has not signed, each with the end of
    /// its log.
    pub fn unsigned_logs(
        &mut self,
        key: &PublicKey,
        after: Option<&AgentId>,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ChainPosition)>> {
        let after = after.map_or("", AgentId::as_str);
        let params = [key.as_bytes().as_slice().into(), after.into(), limit(at_most)];
        records(self.sql.query(UNSIGNED, &params)?, named_place)
    }
}

fn read(mut row: Row) -> Result<SignedHead> {
    Ok(SignedHead {
        agent_id: row.log_id("signed_head.agent_id")?,
        seq: row.count("signed_head.seq")?,
        public_key: PublicKey::from_bytes(*row.digest("signed_head.public_key")?.as_bytes()),
        chain_hash: row.digest("signed_head.chain_hash")?,
        signed_at: row.millis("signed_head.signed_at_ms")?,
        signature: signature(row.bytes("signed_head.signature")?)?,
    })
}

fn signature(bytes: Vec<u8>) -> Result<Signature> {
    let bytes = bytes.try_into();
    bytes
        .map(Signature::from_bytes)
        .map_err(|_| StoreError::Malformed("signed_head.signature"))
}
