//! What waits for its turn, and who has something to do.

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::time::Millis;
use wakeful_core::wake::Control;

use crate::rows::{Overview, QueueRow};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, agent};

const COUNT_IN: &str =
    "UPDATE agent_head SET queued_count = queued_count + 1 WHERE agent_id = ?1 AND queued_count < ?2";

const APPEND: &str = "
    INSERT INTO queue (agent_id, seq, run_key, rank, due_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)";

impl Tx<'_> {
    /// Lets an admitted message wait for its turn at the place of the event that announced it, as urgent as it is and not
    /// before a moment. Fails with [`StoreError::QueueFull`].
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
        ];
        self.sql.run_once(APPEND, &params)
    }
}

const TAKE: &str = "DELETE FROM queue WHERE run_key = ?1";

const COUNT_OUT: &str = "UPDATE agent_head SET queued_count = queued_count - 1 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Takes a message out of the queue; [`StoreError::Conflict`] when somebody else has.
    pub fn dequeue(&mut self, agent: &AgentId, run: &RunKey) -> Result<()> {
        self.sql.run_once(TAKE, &[run.into()])?;
        self.sql.run_once(COUNT_OUT, &[agent.into()])
    }
}

const IN_ORDER: &str = "
    SELECT seq, run_key, due_at_ms FROM queue WHERE agent_id = ?1 ORDER BY rank, seq LIMIT ?2";

impl View<'_> {
    /// The messages of an agent that wait, the one whose turn it is first.
    pub fn queue(&mut self, agent: &AgentId, at_most: u32) -> Result<Vec<QueueRow>> {
        let rows = self.sql.query(IN_ORDER, &[agent.into(), limit(at_most)])?;
        self.with_messages(rows)
    }

    fn with_messages(&mut self, rows: Vec<Row>) -> Result<Vec<QueueRow>> {
        let places = records(rows, |mut row| {
            Ok((
                row.count("queue.seq")?,
                RunKey(row.digest("queue.run_key")?),
                row.optional_millis("queue.due_at_ms")?,
            ))
        })?;
        let rows = places.into_iter().map(|(seq, run, not_before)| {
            let message = self
                .message(&run)?
                .ok_or(StoreError::Malformed("queue.run_key"))?;
            Ok(QueueRow {
                seq,
                not_before,
                message,
            })
        });
        rows.collect()
    }
}

/// Whether a message may begin at `?2`. One that came in over a minute later than that came before the clock was set back:
/// what it waited for is over, unless that is a barrier, which a person set to a date.
macro_rules! is_due {
    () => {
        "(queue.due_at_ms IS NULL OR queue.due_at_ms <= ?2 OR EXISTS (
            SELECT 1 FROM message JOIN agent ON agent.agent_id = message.agent_id
            WHERE message.run_key = queue.run_key AND message.admitted_at_ms > ?2 + 60000
                AND (agent.sleep_until_ms IS NULL OR agent.sleep_until_ms <> queue.due_at_ms)))"
    };
}

const READY: &str = concat!(
    "SELECT seq, run_key, due_at_ms FROM queue WHERE agent_id = ?1 AND ",
    is_due!(),
    " ORDER BY rank, seq LIMIT ?3"
);

impl View<'_> {
    /// The messages that may begin now, in their order.
    fn ready(&mut self, agent: &AgentId, now: Millis, at_most: u32) -> Result<Vec<QueueRow>> {
        let rows = self
            .sql
            .query(READY, &[agent.into(), now.into(), limit(at_most)])?;
        self.with_messages(rows)
    }

    /// The messages that may begin now and that one run may take up together, in their order.
    pub fn absorbable(&mut self, agent: &AgentId, now: Millis, limit: u32) -> Result<Vec<QueueRow>> {
        let mut rows = self.ready(agent, now, limit)?;
        rows.retain(|row| row.message.cause.origin.is_absorbed());
        Ok(rows)
    }

    /// The message whose turn it is, if one may begin now.
    pub fn next_message(&mut self, agent: &AgentId, now: Millis) -> Result<Option<QueueRow>> {
        Ok(self.ready(agent, now, 1)?.pop())
    }
}

const COUNT: &str = "SELECT queued_count FROM agent_head WHERE agent_id = ?1";

impl View<'_> {
    /// How many messages of an agent wait.
    pub fn queued(&mut self, agent: &AgentId) -> Result<u64> {
        let row = at_most_one(self.sql.query(COUNT, &[agent.into()])?);
        row.map_or(Ok(0), |mut row| row.count("agent_head.queued_count"))
    }
}

const NEXT_DUE: &str = "SELECT MIN(due_at_ms) FROM queue WHERE due_at_ms IS NOT NULL AND due_at_ms > ?1";

impl View<'_> {
    /// When the next message that waits for a moment to come may begin; none where none does.
    pub fn next_message_due(&mut self, now: Millis) -> Result<Option<Millis>> {
        let row = at_most_one(self.sql.query(NEXT_DUE, &[now.into()])?);
        let due = row
            .map(|mut row| row.optional_millis("queue.due_at_ms"))
            .transpose()?;
        Ok(due.flatten())
    }
}

const HOLD_AGAIN: &str = "UPDATE queue SET due_at_ms = ?3 WHERE agent_id = ?1 AND due_at_ms = ?2";

impl Tx<'_> {
    /// What waits for the end of a barrier, if there was one, waits for the end of another.
    pub fn hold_again(&mut self, agent: &AgentId, before: Option<Millis>, until: Millis) -> Result<()> {
        let Some(before) = before else { return Ok(()) };
        self.sql
            .execute(HOLD_AGAIN, &[agent.into(), before.into(), until.into()])
            .map(drop)
    }
}

const RELEASE: &str = "UPDATE queue SET due_at_ms = NULL WHERE agent_id = ?1 AND due_at_ms IS NOT NULL";

impl Tx<'_> {
    /// Whatever waits for a moment may begin at once: the barrier that held it is gone.
    pub fn release_held(&mut self, agent: &AgentId) -> Result<()> {
        self.sql.run(RELEASE, &[agent.into()])
    }
}

const ONE: &str = "SELECT seq FROM queue WHERE run_key = ?1";

impl View<'_> {
    /// Whether the message of a run waits for its turn.
    pub fn is_queued(&mut self, run: &RunKey) -> Result<bool> {
        Ok(!self.sql.query(ONE, &[run.into()])?.is_empty())
    }
}

/// Whether an open run is due at `?2`: its moment has come, or it waits for its turn and no other one is under way. A run
/// that was laid to rest over a minute later than now rests since before the clock was set back: it is looked at, and
/// rests for as long as is left of what it waits for, no longer than was said. A brake holds all of it, but for a run whose
/// end was asked for, which waits for no turn either.
macro_rules! run_is_due {
    () => {
        "run.status = 'open' AND (run.due_at_ms IS NULL OR run.due_at_ms <= ?2
            OR run.due_at_ms < 9223372036854775806 AND run.suspended_at_ms > ?2 + 60000
            OR run.due_at_ms = 9223372036854775806
                AND (EXISTS (SELECT 1 FROM run_cancel WHERE run_cancel.run_key = run.run_key)
                    OR NOT EXISTS (SELECT 1 FROM run AS other WHERE other.agent_id = run.agent_id AND other.status = 'open'
                        AND (other.due_at_ms IS NULL OR other.due_at_ms <> 9223372036854775806))))
        AND (NOT EXISTS (SELECT 1 FROM brake WHERE brake.agent_id = '' OR brake.agent_id = run.agent_id)
            OR EXISTS (SELECT 1 FROM run_cancel WHERE run_cancel.run_key = run.run_key))"
    };
}

/// An agent has work when a run of it is open and due, or a message waits, no run is open and it is not paused. By way of
/// the counters and not of the queue itself, which may be long.
pub(crate) const WITH_WORK: &str = concat!(
    "SELECT run.agent_id FROM run WHERE ",
    run_is_due!(),
    "
    UNION
    SELECT agent_head.agent_id FROM agent_head JOIN agent ON agent.agent_id = agent_head.agent_id
    WHERE agent_head.queued_count > 0 AND agent.control = 'running' AND agent.lifecycle <> 'destroyed'
        AND EXISTS (SELECT 1 FROM queue WHERE queue.agent_id = agent_head.agent_id AND ",
    is_due!(),
    ")
        AND NOT EXISTS (SELECT 1 FROM run WHERE run.agent_id = agent_head.agent_id AND run.status = 'open')
        AND NOT EXISTS (SELECT 1 FROM brake WHERE brake.agent_id = '' OR brake.agent_id = agent_head.agent_id)
    ORDER BY 1 LIMIT ?1"
);

impl View<'_> {
    /// Agents that have something to do: an open run that is due, or a message that waits while they are not paused.
    pub fn agents_with_work(&mut self, now: Millis) -> Result<Vec<AgentId>> {
        let rows = self.sql.query(WITH_WORK, &[limit(ROWS_MAX), now.into()])?;
        records(rows, |mut row| row.agent_id("agent_head.agent_id"))
    }
}

/// By the very rule by which the agent is listed: whoever was listed for a run and went on with another one would be listed
/// again, and again. First what is to end, because that waits for nobody.
pub(crate) const DUE_RUN: &str = concat!(
    "SELECT run_key FROM run WHERE run.agent_id = ?1 AND ",
    run_is_due!(),
    " ORDER BY (SELECT COUNT(*) FROM run_cancel WHERE run_cancel.run_key = run.run_key) DESC, +started_at_ms, run_key
    LIMIT 1"
);

impl View<'_> {
    /// The run that an agent goes on with: one that is open and due. There is one exactly where an open run is what
    /// [`Self::agents_with_work`] lists the agent for.
    pub fn due_run(&mut self, agent: &AgentId, now: Millis) -> Result<Option<RunKey>> {
        let row = at_most_one(self.sql.query(DUE_RUN, &[agent.into(), now.into()])?);
        row.map(|mut row| row.digest("run.run_key").map(RunKey))
            .transpose()
    }
}

const SET_CONTROL: &str = "UPDATE agent SET control = ?2 WHERE agent_id = ?1";

impl Tx<'_> {
    /// Pauses an agent or lets it go on. False when there is no such agent.
    pub fn set_control(&mut self, agent: &AgentId, control: Control) -> Result<bool> {
        agent::set(&mut self.sql, SET_CONTROL, agent, control.as_str().into())
    }
}

pub(crate) const STANDING: &str = "
    SELECT queued_count, next_seq - 1,
        (SELECT run_key FROM run WHERE run.agent_id = ?1 AND status = 'open'
            ORDER BY CASE WHEN due_at_ms = 9223372036854775806 THEN 1 ELSE 0 END, +started_at_ms, run_key LIMIT 1),
        (SELECT run_key FROM run WHERE run.agent_id = ?1 ORDER BY started_at_ms DESC, run_key LIMIT 1),
        (SELECT COUNT(*) FROM brake WHERE brake.agent_id = '' OR brake.agent_id = ?1),
        (SELECT COUNT(*) FROM decision WHERE decision.agent_id = ?1 AND decision.status = 'pending'),
        (SELECT COUNT(*) FROM run WHERE run.agent_id = ?1 AND status = 'quarantined')
    FROM agent_head WHERE agent_head.agent_id = ?1";

impl View<'_> {
    /// One agent with what waits for it and what it does.
    pub fn overview(&mut self, agent_id: &AgentId) -> Result<Option<Overview>> {
        let Some(agent) = self.agent(agent_id)? else {
            return Ok(None);
        };
        let row = at_most_one(self.sql.query(STANDING, &[agent_id.into()])?);
        let mut row: Row = row.ok_or(StoreError::Malformed("agent_head.agent_id"))?;
        Ok(Some(Overview {
            agent,
            queued: row.count("agent_head.queued_count")?,
            last_seq: row.count("agent_head.next_seq")?,
            open_run: row.optional_digest("run.run_key")?.map(RunKey),
            last_run: row.optional_digest("run.run_key")?.map(RunKey),
            is_braked: row.count("brake.agent_id")? > 0 || self.is_brake_pending(agent_id),
            pending_decisions: row.count("decision.decision_id")?,
            quarantined_runs: row.count("run.status")?,
        }))
    }

    /// All agents by name, with what waits for them and what they do; private ones only when asked for. At most
    /// [`ROWS_MAX`](crate::ROWS_MAX).
    pub fn overviews(&mut self, with_private: bool) -> Result<Vec<Overview>> {
        let agents = self.agents(with_private)?;
        let overviews = agents
            .iter()
            .filter_map(|agent| self.overview(&agent.agent_id).transpose());
        overviews.collect()
    }
}
