//! What waits for its turn, and who has something to do.

use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::time::Millis;
use wakeful_core::wake::Control;

use crate::rows::{Overview, QueueRow};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, StoreError};
use crate::{agent, message};

const COUNT_IN: &str = "UPDATE agent_head SET queued = queued + 1 WHERE agent_id = ?1 AND queued < ?2";

const APPEND: &str = "
    INSERT INTO queue (agent_id, seq, run_key, rank, due_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)";

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
    with_messages(sql, rows)
}

fn with_messages(sql: &mut dyn Sql, rows: Vec<Row>) -> Result<Vec<QueueRow>, StoreError> {
    let places = records(rows, |mut row| {
        Ok((
            row.count("queue.seq")?,
            RunKey(row.digest("queue.run_key")?),
            row.optional_millis("queue.due_at_ms")?,
        ))
    })?;
    let rows = places.into_iter().map(|(seq, run, not_before)| {
        let message = message::one(sql, &run)?.ok_or(StoreError::Malformed("queue.run_key"))?;
        Ok(QueueRow {
            seq,
            not_before,
            message,
        })
    });
    rows.collect()
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

/// The messages that may begin now, in their order.
pub(crate) fn ready(
    sql: &mut dyn Sql,
    agent: &AgentId,
    now: Millis,
    at_most: u32,
) -> Result<Vec<QueueRow>, StoreError> {
    let rows = sql.query(READY, &[agent.into(), now.into(), limit(at_most)])?;
    with_messages(sql, rows)
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

const HOLD_AGAIN: &str = "UPDATE queue SET due_at_ms = ?3 WHERE agent_id = ?1 AND due_at_ms = ?2";

/// What waits for the end of a barrier waits for the end of another.
pub(crate) fn hold_again(
    sql: &mut dyn Sql,
    agent: &AgentId,
    before: Option<Millis>,
    until: Millis,
) -> Result<(), StoreError> {
    let Some(before) = before else { return Ok(()) };
    sql.execute(HOLD_AGAIN, &[agent.into(), before.into(), until.into()])
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

/// Whether an open run is due at `?2`: its moment has come, or it waits for its turn and no other one is under way. A run
/// that was laid to rest over a minute later than now rests since before the clock was set back: it is looked at, and
/// rests for as long as is left of what it waits for, no longer than was said. A brake holds all of it, but for a run whose
/// end was asked for, which waits for no turn either.
macro_rules! run_is_due {
    () => {
        "run.status = 'open' AND (run.due_at_ms IS NULL OR run.due_at_ms <= ?2
            OR run.due_at_ms < 9223372036854775806 AND run.rested_at_ms > ?2 + 60000
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
    WHERE agent_head.queued > 0 AND agent.control = 'running' AND agent.lifecycle <> 'destroyed'
        AND EXISTS (SELECT 1 FROM queue WHERE queue.agent_id = agent_head.agent_id AND ",
    is_due!(),
    ")
        AND NOT EXISTS (SELECT 1 FROM run WHERE run.agent_id = agent_head.agent_id AND run.status = 'open')
        AND NOT EXISTS (SELECT 1 FROM brake WHERE brake.agent_id = '' OR brake.agent_id = agent_head.agent_id)
    ORDER BY 1 LIMIT ?1"
);

/// Agents that have something to do.
pub(crate) fn agents_with_work(sql: &mut dyn Sql, now: Millis) -> Result<Vec<AgentId>, StoreError> {
    let rows = sql.query(WITH_WORK, &[limit(ROWS_MAX), now.into()])?;
    records(rows, |mut row| row.agent_id("agent_head.agent_id"))
}

/// By the very rule by which the agent is listed: whoever was listed for a run and went on with another one would be listed
/// again, and again. First what is to end, because that waits for nobody.
pub(crate) const DUE_RUN: &str = concat!(
    "SELECT run_key FROM run WHERE run.agent_id = ?1 AND ",
    run_is_due!(),
    " ORDER BY (SELECT COUNT(*) FROM run_cancel WHERE run_cancel.run_key = run.run_key) DESC, +started_at_ms, run_key
    LIMIT 1"
);

/// The run that an agent goes on with.
pub(crate) fn due_run(sql: &mut dyn Sql, agent: &AgentId, now: Millis) -> Result<Option<RunKey>, StoreError> {
    let row = at_most_one(sql.query(DUE_RUN, &[agent.into(), now.into()])?);
    row.map(|mut row| row.digest("run.run_key").map(RunKey))
        .transpose()
}

const SET_CONTROL: &str = "UPDATE agent SET control = ?2 WHERE agent_id = ?1";

/// Pauses an agent or lets it go on. False when there is no such agent.
pub(crate) fn set_control(sql: &mut dyn Sql, agent: &AgentId, control: Control) -> Result<bool, StoreError> {
    agent::set(sql, SET_CONTROL, agent, control.as_str().into())
}

pub(crate) const STANDING: &str = "
    SELECT queued, next_seq - 1,
        (SELECT run_key FROM run WHERE run.agent_id = ?1 AND status = 'open'
            ORDER BY CASE WHEN due_at_ms = 9223372036854775806 THEN 1 ELSE 0 END, +started_at_ms, run_key LIMIT 1),
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
