//! Retention: how much data is stored, which data may be pruned, and pruning it. All lists are oldest first
//! and have the same order on both databases, so that databases with the same rows lose the same ones.

use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::RunKey;
use wakeful_core::retention::{DataClass, EVENTS_KEPT_MIN, RUNS_KEPT_MIN};
use wakeful_core::time::Millis;

use crate::rows::{DataSize, PruneCandidate, PruneResult, PruneTarget, RetentionStateRow};
use crate::sql::{Param, Row, Sql, at_most_one, limit, records};
use crate::{Result, StoreError, Tx, View};

const HELD_EVENTS: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(length(payload)), 0) AS BIGINT) FROM event WHERE payload IS NOT NULL";

const HELD_JOURNALS: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(length(input)), 0) AS BIGINT) FROM run_log";

const HELD_ATTEMPTS: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(length(attempt)), 0) AS BIGINT) FROM step WHERE attempt IS NOT NULL";

/// A blob in a file counts with its uncompressed size, because summing file sizes would need the file
/// system.
const HELD_BLOBS: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(COALESCE(length(bytes), size)), 0) AS BIGINT) FROM blob";

impl View<'_> {
    /// Returns the amount of data of a class. Scans all of it.
    pub fn data_size(&mut self, class: DataClass) -> Result<DataSize> {
        match class {
            DataClass::Events => count(&mut self.sql, HELD_EVENTS),
            DataClass::Traces => {
                Ok(count(&mut self.sql, HELD_JOURNALS)?.and(count(&mut self.sql, HELD_ATTEMPTS)?))
            }
            DataClass::Blobs => count(&mut self.sql, HELD_BLOBS),
        }
    }
}

fn count(sql: &mut dyn Sql, query: &'static str) -> Result<DataSize> {
    let mut row = at_most_one(sql.query(query, &[])?).ok_or(StoreError::Malformed("count"))?;
    read_held(&mut row)
}

fn read_held(row: &mut Row) -> Result<DataSize> {
    Ok(DataSize {
        rows: row.count("rows")?,
        bytes: row.count("bytes")?,
    })
}

/// Events that record how many payloads were removed are kept: without them, pruned data could not be
/// distinguished from lost data.
const OLD_EVENTS: &str = "
    SELECT event.at_ms, event.agent_id, event.seq, CAST(length(event.payload) AS BIGINT)
    FROM event JOIN agent_head ON agent_head.agent_id = event.agent_id
    WHERE event.payload IS NOT NULL AND event.at_ms < ?1 AND event.seq < agent_head.next_seq - ?2
        AND event.kind NOT IN ('content_erased', 'data_pruned', 'rows_bound')
        AND NOT EXISTS (SELECT 1 FROM run WHERE run.run_key = event.run_key AND run.status IN ('open', 'quarantined'))
        AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.run_key = event.run_key)
    ORDER BY event.at_ms, event.agent_id, event.seq LIMIT ?3";

/// Only runs that started before the newest of their agent. `prune_level < 2` is repeated so that the index
/// is used.
const OLD_TRACES: &str = "
    SELECT run.ended_at_ms, run.agent_id, run.run_key,
        (SELECT COUNT(*) FROM run_log WHERE run_log.run_key = run.run_key),
        CAST((SELECT COALESCE(SUM(length(run_log.input)), 0) FROM run_log WHERE run_log.run_key = run.run_key)
            + (SELECT COALESCE(SUM(length(step.attempt)), 0) FROM step WHERE step.run_key = run.run_key) AS BIGINT)
    FROM run
    WHERE run.ended_at_ms IS NOT NULL AND run.status <> 'quarantined' AND run.prune_level < 2 AND run.prune_level < 1 AND run.ended_at_ms < ?1
        AND run.started_at_ms < (SELECT newer.started_at_ms FROM run AS newer
            WHERE newer.agent_id = run.agent_id ORDER BY newer.started_at_ms DESC LIMIT 1 OFFSET ?2)
    ORDER BY run.ended_at_ms, run.agent_id, run.run_key LIMIT ?3";

const OLD_LINES: &str = "
    SELECT run.ended_at_ms, run.agent_id, run.run_key, run.thread_id,
        COALESCE(MIN(transcript_entry.position), 0), COALESCE(MAX(transcript_entry.position), 0), COUNT(transcript_entry.position),
        CAST(COALESCE(SUM(COALESCE(length(blob.bytes), blob.size)), 0) AS BIGINT)
    FROM run
        LEFT JOIN transcript_entry ON transcript_entry.thread_id = run.thread_id AND transcript_entry.run_key = run.run_key
        LEFT JOIN blob ON blob.hash = transcript_entry.content_hash
    WHERE run.ended_at_ms IS NOT NULL AND run.status <> 'quarantined' AND run.prune_level < 2 AND run.ended_at_ms < ?1
        AND run.started_at_ms < (SELECT newer.started_at_ms FROM run AS newer
            WHERE newer.agent_id = run.agent_id ORDER BY newer.started_at_ms DESC LIMIT 1 OFFSET ?2)
    GROUP BY run.ended_at_ms, run.agent_id, run.run_key, run.thread_id
    ORDER BY run.ended_at_ms, run.agent_id, run.run_key LIMIT ?3";

impl View<'_> {
    /// Returns what retention may prune of a class: older than a time if one is given, ordered by time,
    /// agent and position. Never includes data of an open run or a queued message, nor the newest of an
    /// agent. Scans all of it.
    pub fn prune_candidates(
        &mut self,
        class: DataClass,
        before: Option<Millis>,
        at_most: u32,
    ) -> Result<Vec<PruneCandidate>> {
        // The statements always compare with a bound; without one, use the largest time.
        let before = before.unwrap_or(Millis(i64::MAX));
        let spared = |count: u32| -> Param<'static> { count.into() };
        let (before, at_most) = (before.into(), limit(at_most));
        match class {
            DataClass::Events => {
                let params = [before, spared(EVENTS_KEPT_MIN), at_most];
                records(self.sql.query(OLD_EVENTS, &params)?, read_event)
            }
            DataClass::Traces => {
                let params = [before, spared(RUNS_KEPT_MIN - 1), at_most];
                records(self.sql.query(OLD_TRACES, &params)?, read_trace)
            }
            DataClass::Blobs => {
                let params = [before, spared(RUNS_KEPT_MIN - 1), at_most];
                records(self.sql.query(OLD_LINES, &params)?, read_lines)
            }
        }
    }
}

fn read_event(mut row: Row) -> Result<PruneCandidate> {
    Ok(PruneCandidate {
        at: row.millis("event.at_ms")?,
        agent_id: row.agent_id("event.agent_id")?,
        what: PruneTarget::Event {
            seq: row.count("event.seq")?,
        },
        size: DataSize {
            rows: 1,
            bytes: row.count("event.payload")?,
        },
    })
}

fn read_trace(mut row: Row) -> Result<PruneCandidate> {
    Ok(PruneCandidate {
        at: row.millis("run.ended_at_ms")?,
        agent_id: row.agent_id("run.agent_id")?,
        what: PruneTarget::Trace {
            run_key: RunKey(row.digest("run.run_key")?),
        },
        size: read_held(&mut row)?,
    })
}

fn read_lines(mut row: Row) -> Result<PruneCandidate> {
    Ok(PruneCandidate {
        at: row.millis("run.ended_at_ms")?,
        agent_id: row.agent_id("run.agent_id")?,
        what: PruneTarget::Lines {
            run_key: RunKey(row.digest("run.run_key")?),
            thread_id: ThreadId::new(row.text("run.thread_id")?),
            first: row.int("transcript_entry.position")?,
            last: row.int("transcript_entry.position")?,
        },
        size: read_held(&mut row)?,
    })
}

impl Tx<'_> {
    /// Prunes at most `at_most` rows of a target. Rows that are already gone count as zero.
    pub fn prune(&mut self, agent: &AgentId, old: &PruneTarget, at_most: u32) -> Result<PruneResult> {
        let nothing = PruneResult {
            is_all: true,
            ..PruneResult::default()
        };
        match old {
            PruneTarget::Event { seq } => prune_event(&mut self.sql, agent, *seq),
            // The run may have been reopened since the candidates were read.
            PruneTarget::Trace { run_key } | PruneTarget::Lines { run_key, .. }
                if !has_ended(&mut self.sql, run_key)? =>
            {
                Ok(nothing)
            }
            PruneTarget::Trace { run_key } => prune_trace(&mut self.sql, run_key, at_most),
            PruneTarget::Lines { run_key, .. } => {
                let held = prune_lines(&mut self.sql, old, at_most)?;
                let few = u64::from(at_most);
                let is_all = held.rows < few && prune_decisions(&mut self.sql, run_key, at_most)? < few;
                if is_all {
                    mark(&mut self.sql, run_key, CONTENTS_GONE)?;
                }
                Ok(PruneResult { size: held, is_all })
            }
        }
    }
}

const PRUNED: &str = "SELECT run_key FROM run WHERE run_key = ?1 AND prune_level > 0";

impl View<'_> {
    /// Whether retention removed the run log of a run.
    pub fn is_pruned(&mut self, run: &RunKey) -> Result<bool> {
        Ok(!self.sql.query(PRUNED, &[run.into()])?.is_empty())
    }
}

const ENDED: &str = "SELECT run_key FROM run WHERE run_key = ?1 AND status NOT IN ('open', 'quarantined')";

fn has_ended(sql: &mut dyn Sql, run: &RunKey) -> Result<bool> {
    Ok(!sql.query(ENDED, &[run.into()])?.is_empty())
}

const PAYLOAD: &str = "
    SELECT CAST(length(payload) AS BIGINT) FROM event WHERE agent_id = ?1 AND seq = ?2 AND payload IS NOT NULL";

/// Payload and salt are removed together; the header stays, and with it the chain.
const ERASE: &str = "
    UPDATE event SET payload = NULL, salt = NULL WHERE agent_id = ?1 AND seq = ?2 AND payload IS NOT NULL";

fn prune_event(sql: &mut dyn Sql, agent: &AgentId, seq: u64) -> Result<PruneResult> {
    let found = at_most_one(sql.query(PAYLOAD, &[agent.into(), seq.into()])?);
    let bytes = found.map_or(Ok(0), |mut row| row.count("event.payload"))?;
    let rows = sql.execute(ERASE, &[agent.into(), seq.into()])?;
    Ok(PruneResult {
        size: DataSize { rows, bytes },
        is_all: true,
    })
}

/// The last ordinal of the next part of a run log, with its number of rows and bytes.
const PIECE: &str = "
    SELECT COALESCE(MAX(ordinal), 0), COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM (
        SELECT ordinal, length(input) AS bytes FROM run_log WHERE run_key = ?1 ORDER BY ordinal LIMIT ?2) AS piece";

const FORGET_INPUTS: &str = "DELETE FROM run_log WHERE run_key = ?1 AND ordinal <= ?2";

/// A run may have as many steps as it has run log rows, so their diagnostics are removed in parts as well.
const FORGET_ATTEMPTS: &str = "
    UPDATE step SET attempt = NULL WHERE operation_id IN (
        SELECT operation_id FROM step WHERE run_key = ?1 AND attempt IS NOT NULL ORDER BY ordinal LIMIT ?2)";

fn prune_trace(sql: &mut dyn Sql, run: &RunKey, at_most: u32) -> Result<PruneResult> {
    // Marked with the first part, because an incomplete run log cannot be replayed.
    mark(sql, run, TRACE_GONE)?;
    let piece = at_most_one(sql.query(PIECE, &[run.into(), limit(at_most)])?);
    let mut piece = piece.ok_or(StoreError::Malformed("run_log.ordinal"))?;
    let last = piece.int("run_log.ordinal")?;
    let held = read_held(&mut piece)?;
    let inputs = sql.execute(FORGET_INPUTS, &[run.into(), last.into()])?;
    let attempts = sql.execute(FORGET_ATTEMPTS, &[run.into(), limit(at_most)])?;
    Ok(PruneResult {
        size: held,
        is_all: inputs < u64::from(at_most) && attempts < u64::from(at_most),
    })
}

/// The last position of the next transcript lines, their number, and the bytes they refer to.
const LINES: &str = "
    SELECT COALESCE(MAX(position), 0), COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM (
        SELECT transcript_entry.position, COALESCE(length(blob.bytes), blob.size) AS bytes
        FROM transcript_entry LEFT JOIN blob ON blob.hash = transcript_entry.content_hash
        WHERE transcript_entry.thread_id = ?1 AND transcript_entry.run_key = ?2 AND transcript_entry.position BETWEEN ?3 AND ?4
        ORDER BY transcript_entry.position LIMIT ?5) AS piece";

const FORGET_LINES: &str = "
    DELETE FROM transcript_entry WHERE thread_id = ?1 AND run_key = ?2 AND position BETWEEN ?3 AND ?4";

fn prune_lines(sql: &mut dyn Sql, old: &PruneTarget, at_most: u32) -> Result<DataSize> {
    let PruneTarget::Lines {
        run_key,
        thread_id,
        first,
        last,
    } = old
    else {
        return Ok(DataSize::default());
    };
    let [thread, run, first, last] = [thread_id.into(), run_key.into(), (*first).into(), (*last).into()];
    let found = sql.query(LINES, &[thread, run, first, last, limit(at_most)])?;
    let mut found = at_most_one(found).ok_or(StoreError::Malformed("transcript_entry.position"))?;
    let until = found.int("transcript_entry.position")?;
    let held = read_held(&mut found)?;
    sql.execute(FORGET_LINES, &[thread, run, first, until.into()])?;
    Ok(held)
}

/// Decisions are removed with the contents of their run, together with their notifications. A pending
/// decision stays, even if its run has ended.
const FORGET_ANNOUNCEMENTS: &str = "
    DELETE FROM decision_notification WHERE decision_id IN (
        SELECT decision_id FROM decision WHERE run_key = ?1 AND status <> 'pending'
        ORDER BY asked_at_ms, decision_id LIMIT ?2)";

const FORGET_DECISIONS: &str = "
    DELETE FROM decision WHERE decision_id IN (
        SELECT decision_id FROM decision WHERE run_key = ?1 AND status <> 'pending'
        ORDER BY asked_at_ms, decision_id LIMIT ?2)";

fn prune_decisions(sql: &mut dyn Sql, run: &RunKey, at_most: u32) -> Result<u64> {
    let params = [run.into(), limit(at_most)];
    sql.execute(FORGET_ANNOUNCEMENTS, &params)?;
    sql.execute(FORGET_DECISIONS, &params)
}

/// Values of `prune_level`: the trace was removed; the contents were removed as well.
const TRACE_GONE: i64 = 1;
const CONTENTS_GONE: i64 = 2;

const MARK: &str = "UPDATE run SET prune_level = ?2 WHERE run_key = ?1 AND prune_level < ?2 AND status NOT IN ('open', 'quarantined')";

fn mark(sql: &mut dyn Sql, run: &RunKey, gone: i64) -> Result<()> {
    sql.execute(MARK, &[run.into(), gone.into()]).map(drop)
}

/// The value of a state column before it is first set.
const UNSET: i64 = 0;

fn set(value: i64) -> Option<i64> {
    Some(value).filter(|value| *value != UNSET)
}

const RETENTION_STATE: &str = "SELECT generation, generation_at_ms, age_clock_ms, pruned_at_ms, unswept_generation FROM retention_state WHERE row_id = 1";

impl View<'_> {
    /// Returns the progress of retention.
    pub fn retention_state(&mut self) -> Result<RetentionStateRow> {
        let mut row = at_most_one(self.sql.query(RETENTION_STATE, &[])?)
            .ok_or(StoreError::Malformed("retention_state"))?;
        Ok(RetentionStateRow {
            generation: row.int("retention_state.generation")?,
            generation_at: row.millis("retention_state.generation_at_ms")?,
            clock: set(row.int("retention_state.age_clock_ms")?).map(Millis),
            pruned_at: set(row.int("retention_state.pruned_at_ms")?).map(Millis),
            unswept: set(row.int("retention_state.unswept_generation")?),
        })
    }
}

const PUT_RETENTION_STATE: &str = "
    UPDATE retention_state SET generation = ?2, generation_at_ms = ?3, age_clock_ms = ?4, pruned_at_ms = ?5, unswept_generation = ?6
    WHERE row_id = 1 AND generation = ?1";

impl Tx<'_> {
    /// Stores the progress of retention if its generation is still the expected one; otherwise returns
    /// false.
    pub fn put_retention_state(&mut self, care: &RetentionStateRow, expected: i64) -> Result<bool> {
        let params = [
            expected.into(),
            care.generation.into(),
            care.generation_at.into(),
            care.clock.map_or(UNSET, |clock| clock.0).into(),
            care.pruned_at.map_or(UNSET, |at| at.0).into(),
            care.unswept.unwrap_or(UNSET).into(),
        ];
        Ok(self.sql.execute(PUT_RETENTION_STATE, &params)? == 1)
    }
}
