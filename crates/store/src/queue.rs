//! What waits for its turn, and who has something to do.

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::time::Millis;
use wakeful_core::wake::Control;

use crate::StoreError;
use crate::rows::{Overview, QueueRow};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{agent, message};

const COUNT_IN: &str = "UPDATE agent_head SET queued = queued + 1 WHERE agent_id = ?1 AND queued < ?2";

const APPEND: &str = "
    INSERT INTO queue (agent_id, seq, run_key, rank, due_at_ms, admitted_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Lets a message wait behind those before it.
pub(crate) fn append(
    sql: &mut dyn Sql,
    message: &Message,
    seq: u64,
    not_before: Option<Millis>,
) -> Result<(), StoreError> {
    let agent = &message.agent_id;
    if sql.execute(COUNT_IN, &[agent.into(), QUEUE_MAX.into()])? == 0 {
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
    sql.run_once(APPEND, &params)
}

const TAKE: &str = "DELETE FROM queue WHERE run_key = ?1";

const COUNT_OUT: &str = "UPDATE agent_head SET queued = queued - 1 WHERE agent_id = ?1";

/// Takes a message out of the queue. Whoever comes second finds it gone.
pub(crate) fn take(sql: &mut dyn Sql, agent: &AgentId, run: &RunKey) -> Result<(), StoreError> {
    sql.run_once(TAKE, &[run.into()])?;
    sql.run_once(COUNT_OUT, &[agent.into()])
}

const IN_ORDER: &str = "
    SELECT seq, run_key, due_at_ms FROM queue WHERE agent_id = ?1 ORDER BY rank, seq LIMIT ?2";

/// The messages that wait, in their order.
pub(crate) fn list(sql: &mut dyn Sql, agent: &AgentId, at_most: u32) -> Result<Vec<QueueRow>, StoreError> {
    let rows = sql.query(IN_ORDER, &[agent.into(), limit(at_most)])?;
    let places = records(rows, |mut row| QueuedAt::read(&mut row))?;
    with_messages(sql, places)
}

/// The place of a message in the queue.
pub(crate) struct QueuedAt {
    pub(crate) seq: u64,
    run_key: RunKey,
    pub(crate) not_before: Option<Millis>,
}

impl QueuedAt {
    /// Reads `seq, run_key, due_at_ms`.
    pub(crate) fn read(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.count("queue.seq")?,
            run_key: RunKey(row.digest("queue.run_key")?),
            not_before: row.optional_millis("queue.due_at_ms")?,
        })
    }
}

/// Reads the messages at these places.
pub(crate) fn with_messages(sql: &mut dyn Sql, places: Vec<QueuedAt>) -> Result<Vec<QueueRow>, StoreError> {
    let rows = places.into_iter().map(|place| {
        let message = message::one(sql, &place.run_key)?.ok_or(StoreError::Malformed("queue.run_key"))?;
        Ok(QueueRow {
            seq: place.seq,
            not_before: place.not_before,
            message,
        })
    });
    rows.collect()
}

const COUNT: &str = "SELECT queued FROM agent_head WHERE agent_id = ?1";

/// How many messages of an agent wait.
pub(crate) fn count(sql: &mut dyn Sql, agent: &AgentId) -> Result<u64, StoreError> {
    let row = at_most_one(sql.query(COUNT, &[agent.into()])?);
    row.map_or(Ok(0), |mut row| row.count("agent_head.queued"))
}

const NEXT_DUE: &str = "SELECT MIN(due_at_ms) FROM queue WHERE due_at_ms IS NOT NULL AND due_at_ms > ?1";

/// When the next message that waits for a moment to come may begin.
pub(crate) fn next_due(sql: &mut dyn Sql, now: Millis) -> Result<Option<Millis>, StoreError> {
    let row = at_most_one(sql.query(NEXT_DUE, &[now.into()])?);
    let due = row
        .map(|mut row| row.optional_millis("queue.due_at_ms"))
        .transpose()?;
    Ok(due.flatten())
}

const DELAY: &str = "UPDATE queue SET due_at_ms = ?3 WHERE agent_id = ?1 AND due_at_ms = ?2";

/// What waits for the end of a barrier waits for the end of another.
pub(crate) fn delay(
    sql: &mut dyn Sql,
    agent: &AgentId,
    before: Option<Millis>,
    until: Millis,
) -> Result<(), StoreError> {
    let Some(before) = before else { return Ok(()) };
    sql.execute(DELAY, &[agent.into(), before.into(), until.into()])
        .map(drop)
}

const RELEASE: &str = "UPDATE queue SET due_at_ms = NULL WHERE agent_id = ?1 AND due_at_ms IS NOT NULL";

/// Whatever waits for a moment may begin at once.
pub(crate) fn release(sql: &mut dyn Sql, agent: &AgentId) -> Result<(), StoreError> {
    sql.run(RELEASE, &[agent.into()])
}

const ONE: &str = "SELECT seq FROM queue WHERE run_key = ?1";

/// Whether the message of a run waits for its turn.
pub(crate) fn holds(sql: &mut dyn Sql, run: &RunKey) -> Result<bool, StoreError> {
    Ok(!sql.query(ONE, &[run.into()])?.is_empty())
}

const SET_CONTROL: &str = "UPDATE agent SET control = ?2 WHERE agent_id = ?1";

/// Pauses an agent or lets it go on. False when there is no such agent.
pub(crate) fn set_control(sql: &mut dyn Sql, agent: &AgentId, control: Control) -> Result<bool, StoreError> {
    agent::set(sql, SET_CONTROL, agent, control.as_str().into())
}

pub(crate) const STANDING: &str = "
    SELECT queued, next_seq - 1,
        (SELECT run_key FROM run WHERE run.agent_id = ?1 AND status = 'open'
            ORDER BY CASE WHEN wait_kind = 'turn' THEN 1 ELSE 0 END, +started_at_ms, run_key LIMIT 1),
        (SELECT run_key FROM run WHERE run.agent_id = ?1 ORDER BY started_at_ms DESC, run_key LIMIT 1),
        (SELECT COUNT(*) FROM brake WHERE brake.agent_id = '' OR brake.agent_id = ?1),
        (SELECT COUNT(*) FROM decision WHERE decision.agent_id = ?1 AND decision.status = 'pending'),
        (SELECT COUNT(*) FROM run WHERE run.agent_id = ?1 AND status = 'quarantined')
    FROM agent_head WHERE agent_head.agent_id = ?1";

/// An agent with what waits for it and what it does.
pub(crate) fn overview(sql: &mut dyn Sql, agent_id: &AgentId) -> Result<Option<Overview>, StoreError> {
    let Some(agent) = agent::one(sql, agent_id)? else {
        return Ok(None);
    };
    let row = at_most_one(sql.query(STANDING, &[agent_id.into()])?);
    let mut row: Row = row.ok_or(StoreError::Malformed("agent_head.agent_id"))?;
    Ok(Some(Overview {
        agent,
        queued: row.count("agent_head.queued")?,
        last_seq: row.count("agent_head.next_seq")?,
        open_run: row.optional_digest("run.run_key")?.map(RunKey),
        last_run: row.optional_digest("run.run_key")?.map(RunKey),
        is_braked: row.count("brake.agent_id")? > 0,
        pending_decisions: row.count("decision.decision_id")?,
        quarantined_runs: row.count("run.status")?,
    }))
}

/// The same of all agents by name.
pub(crate) fn overviews(sql: &mut dyn Sql, with_private: bool) -> Result<Vec<Overview>, StoreError> {
    let agents = agent::list(sql, with_private)?;
    let overviews = agents
        .iter()
        .filter_map(|agent| overview(sql, &agent.agent_id).transpose());
    overviews.collect()
}
