//! The queued messages of an agent.

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::time::Millis;
use wakeful_core::wake::AgentControl;

use crate::rows::{AgentOverview, QueueRow};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{Result, StoreError, Tx, View, agent};

const COUNT_IN: &str =
    "UPDATE agent_head SET queued_count = queued_count + 1 WHERE agent_id = ?1 AND queued_count < ?2";

const APPEND: &str = "
    INSERT INTO queue (agent_id, seq, run_key, rank, due_at_ms, admitted_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

impl Tx<'_> {
    /// Queues an admitted message under the sequence number of its admission event, by priority and not
    /// before a time. Fails with [`StoreError::QueueFull`].
    pub fn enqueue(&mut self, message: &Message, seq: u64, not_before: Option<Millis>) -> Result<()> {
        let agent = &message.agent_id;
        if self.sql.execute(COUNT_IN, &[agent.into(), QUEUE_MAX.into()])? == 0 {
            return Err(StoreError::QueueFull(agent.clone()));
        }
        let params = [
            agent.into(),
            seq.into(),
            (&message.run_key).into(),
            message.cause.priority.rank(seq).into(),
            not_before.into(),
            message.admitted_at.into(),
        ];
        self.sql.run_once(APPEND, &params)
    }
}

const TAKE: &str = "DELETE FROM queue WHERE run_key = ?1";

const COUNT_OUT: &str = "UPDATE agent_head SET queued_count = queued_count - 1 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Removes a message from the queue. Fails with [`StoreError::Conflict`] if another transaction has
    /// removed it.
    pub fn dequeue(&mut self, agent: &AgentId, run: &RunKey) -> Result<()> {
        self.sql.run_once(TAKE, &[run.into()])?;
        self.sql.run_once(COUNT_OUT, &[agent.into()])
    }
}

const IN_ORDER: &str = "
    SELECT seq, run_key, due_at_ms FROM queue WHERE agent_id = ?1 ORDER BY rank, seq LIMIT ?2";

impl View<'_> {
    /// Returns the queued messages of an agent, next one first.
    pub fn queue(&mut self, agent: &AgentId, at_most: u32) -> Result<Vec<QueueRow>> {
        let rows = self.sql.query(IN_ORDER, &[agent.into(), limit(at_most)])?;
        let places = records(rows, |mut row| QueuedAt::read(&mut row))?;
        self.with_messages(places)
    }

    /// Reads the messages at these positions.
    pub(crate) fn with_messages(&mut self, places: Vec<QueuedAt>) -> Result<Vec<QueueRow>> {
        let rows = places.into_iter().map(|place| {
            let message = self.message(&place.run_key)?;
            Ok(QueueRow {
                seq: place.seq,
                not_before: place.not_before,
                message: message.ok_or(StoreError::Malformed("queue.run_key"))?,
            })
        });
        rows.collect()
    }
}

/// The position of a message in the queue.
pub(crate) struct QueuedAt {
    pub(crate) seq: u64,
    run_key: RunKey,
    pub(crate) not_before: Option<Millis>,
}

impl QueuedAt {
    /// Reads `seq, run_key, due_at_ms`.
    pub(crate) fn read(row: &mut Row) -> Result<Self> {
        Ok(Self {
            seq: row.count("queue.seq")?,
            run_key: RunKey(row.digest("queue.run_key")?),
            not_before: row.optional_millis("queue.due_at_ms")?,
        })
    }
}

const COUNT: &str = "SELECT queued_count FROM agent_head WHERE agent_id = ?1";

impl View<'_> {
    /// Returns how many messages of an agent are queued.
    pub fn queued(&mut self, agent: &AgentId) -> Result<u64> {
        let row = at_most_one(self.sql.query(COUNT, &[agent.into()])?);
        row.map_or(Ok(0), |mut row| row.count("agent_head.queued_count"))
    }
}

const NEXT_DUE: &str = "SELECT MIN(due_at_ms) FROM queue WHERE due_at_ms IS NOT NULL AND due_at_ms > ?1";

impl View<'_> {
    /// Returns when the next delayed message becomes due, or `None` if none is delayed.
    pub fn next_message_due(&mut self, now: Millis) -> Result<Option<Millis>> {
        let row = at_most_one(self.sql.query(NEXT_DUE, &[now.into()])?);
        let due = row
            .map(|mut row| row.optional_millis("queue.due_at_ms"))
            .transpose()?;
        Ok(due.flatten())
    }
}

const DELAY: &str = "UPDATE queue SET due_at_ms = ?3 WHERE agent_id = ?1 AND due_at_ms = ?2";

impl Tx<'_> {
    /// Delays the messages that wait for the end of the previous sleep barrier, if any, until the end of
    /// the new one.
    pub fn delay_queued(&mut self, agent: &AgentId, before: Option<Millis>, until: Millis) -> Result<()> {
        let Some(before) = before else { return Ok(()) };
        self.sql
            .execute(DELAY, &[agent.into(), before.into(), until.into()])
            .map(drop)
    }
}

const RELEASE: &str = "UPDATE queue SET due_at_ms = NULL WHERE agent_id = ?1 AND due_at_ms IS NOT NULL";

impl Tx<'_> {
    /// Makes all delayed messages of an agent due at once, after its sleep barrier was removed.
    pub fn release_delayed(&mut self, agent: &AgentId) -> Result<()> {
        self.sql.run(RELEASE, &[agent.into()])
    }
}

const ONE: &str = "SELECT seq, run_key, due_at_ms FROM queue WHERE run_key = ?1";

impl View<'_> {
    pub fn queue_row(&mut self, run: &RunKey) -> Result<Option<QueueRow>> {
        let rows = self.sql.query(ONE, &[run.into()])?;
        let places = records(rows, |mut row| QueuedAt::read(&mut row))?;
        Ok(self.with_messages(places)?.pop())
    }

    /// Whether the message of a run is queued.
    pub fn is_queued(&mut self, run: &RunKey) -> Result<bool> {
        Ok(!self.sql.query(ONE, &[run.into()])?.is_empty())
    }
}

const SET_CONTROL: &str = "UPDATE agent SET control = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Pauses, stops or resumes an agent. Returns false if the agent does not exist.
    pub fn set_control(&mut self, agent: &AgentId, control: AgentControl) -> Result<bool> {
        agent::set(&mut self.sql, SET_CONTROL, agent, control.as_str().into())
    }
}

pub(crate) const STANDING: &str = "
    SELECT queued_count, next_seq - 1,
        (SELECT run_key FROM run WHERE run.agent_id = ?1 AND status = 'open'
            ORDER BY CASE WHEN wait_kind = 'turn' THEN 1 ELSE 0 END, +started_at_ms, run_key LIMIT 1),
        (SELECT run_key FROM run WHERE run.agent_id = ?1 ORDER BY started_at_ms DESC, run_key LIMIT 1),
        (SELECT COUNT(*) FROM brake WHERE brake.agent_id = '' OR brake.agent_id = ?1),
        (SELECT COUNT(*) FROM decision WHERE decision.agent_id = ?1 AND decision.status = 'pending'),
        (SELECT COUNT(*) FROM run WHERE run.agent_id = ?1 AND status = 'quarantined'),
        (SELECT COUNT(*) FROM run WHERE run.agent_id = ?1 AND status = 'open' AND wait_kind = 'budget')
    FROM agent_head WHERE agent_head.agent_id = ?1";

impl View<'_> {
    /// Returns one agent with its queue and its current work.
    pub fn overview(&mut self, agent_id: &AgentId) -> Result<Option<AgentOverview>> {
        let Some(agent) = self.agent(agent_id)? else {
            return Ok(None);
        };
        let row = at_most_one(self.sql.query(STANDING, &[agent_id.into()])?);
        let mut row: Row = row.ok_or(StoreError::Malformed("agent_head.agent_id"))?;
        Ok(Some(AgentOverview {
            agent,
            queued: row.count("agent_head.queued_count")?,
            last_seq: row.count("agent_head.next_seq")?,
            open_run: row.optional_digest("run.run_key")?.map(RunKey),
            last_run: row.optional_digest("run.run_key")?.map(RunKey),
            is_braked: row.count("brake.agent_id")? > 0 || self.is_brake_pending(agent_id),
            pending_decisions: row.count("decision.decision_id")?,
            quarantined_runs: row.count("run.status")?,
            is_waiting_for_budget: row.count("run.wait_kind")? > 0,
        }))
    }

    /// Returns all agents by name, with their queues and their current work; private ones only if
    /// `with_private` is set. At most [`ROWS_MAX`](crate::ROWS_MAX).
    pub fn overviews(&mut self, with_private: bool) -> Result<Vec<AgentOverview>> {
        let agents = self.agents(with_private)?;
        let overviews = agents
            .iter()
            .filter_map(|agent| self.overview(&agent.agent_id).transpose());
        overviews.collect()
    }
}
