//! Consistency check of the whole database: compares derived rows with the rows they are derived from.

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::Role;
use wakeful_core::decision::Decision;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::provenance::Sources;

use crate::rows::{
    DecisionRow, DeliveryRow, Inconsistency, NoticeRow, PlacedEntry, QueuePosition, RunPruneState, RunRow,
    TranscriptEntryRow,
};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, View};

/// Rows reported per rule. A longer list would not help to find the cause.
const INCONSISTENCIES_MAX: u32 = 100;

/// Invariants between rows. Each query returns the keys of rows that violate one; keys are text or bytes.
const RULES: [(&str, &str); 20] = [
    ("agent_head.queued_count", "
        SELECT h.agent_id, h.queued_count FROM agent_head h WHERE h.queued_count <> (
            SELECT COUNT(*) FROM queue q WHERE q.agent_id = h.agent_id) LIMIT ?1"),
    ("agent_head.incarnation", "
        SELECT h.agent_id, h.next_seq FROM agent_head h WHERE h.incarnation <> COALESCE((
            SELECT l.incarnation FROM event_incarnation l WHERE l.agent_id = h.agent_id
            ORDER BY l.first_seq DESC LIMIT 1), '') LIMIT ?1"),
    ("agent_head.last_run_started_at_ms", "
        SELECT h.agent_id, h.next_seq FROM agent_head h WHERE h.last_run_started_at_ms IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM run r WHERE r.agent_id = h.agent_id AND r.started_at_ms = h.last_run_started_at_ms) LIMIT ?1"),
    ("agent_head.last_run_started_at_ms", "
        SELECT h.agent_id, h.next_seq FROM agent_head h WHERE h.last_run_started_at_ms IS NULL AND EXISTS (
            SELECT 1 FROM run r WHERE r.agent_id = h.agent_id) LIMIT ?1"),
    ("agent_head.agent_id", "
        SELECT a.agent_id, 0 FROM agent a WHERE NOT EXISTS (
            SELECT 1 FROM agent_head h WHERE h.agent_id = a.agent_id) LIMIT ?1"),
    ("signed_head.agent_id", "
        SELECT s.agent_id, s.seq FROM signed_head s WHERE NOT EXISTS (
            SELECT 1 FROM agent_head h WHERE h.agent_id = s.agent_id) LIMIT ?1"),
    ("event_incarnation.agent_id", "
        SELECT l.agent_id, l.first_seq FROM event_incarnation l WHERE NOT EXISTS (
            SELECT 1 FROM agent_head h WHERE h.agent_id = l.agent_id) LIMIT ?1"),
    ("queue.run_key", "
        SELECT m.agent_id, m.run_key FROM message m
        WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.run_key = m.run_key)
            AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.run_key = m.run_key)
            AND NOT EXISTS (SELECT 1 FROM wake w WHERE w.run_key = m.run_key) LIMIT ?1"),
    ("queue.run_key", "
        SELECT q.agent_id, q.run_key FROM queue q
        WHERE EXISTS (SELECT 1 FROM run r WHERE r.run_key = q.run_key)
            OR NOT EXISTS (SELECT 1 FROM message m WHERE m.run_key = q.run_key AND m.agent_id = q.agent_id) LIMIT ?1"),
    ("queue.seq", "
        SELECT q.agent_id, q.run_key FROM queue q WHERE NOT EXISTS (
            SELECT 1 FROM event e WHERE e.agent_id = q.agent_id AND e.seq = q.seq AND e.run_key = q.run_key
                AND e.kind = 'message_admitted') LIMIT ?1"),
    ("transcript_entry.position", "
        SELECT e.thread_id, e.position FROM transcript_entry e
        WHERE e.position > 1
            AND NOT EXISTS (SELECT 1 FROM transcript_entry p WHERE p.thread_id = e.thread_id AND p.position = e.position - 1)
            AND NOT EXISTS (SELECT 1 FROM run r WHERE r.thread_id = e.thread_id AND (r.prune_level = 2 OR EXISTS (
                SELECT 1 FROM run_log j WHERE j.run_key = r.run_key AND length(j.input) = 0))) LIMIT ?1"),
    ("transcript_entry.run_key", "
        SELECT e.thread_id, e.position FROM transcript_entry e WHERE NOT EXISTS (
            SELECT 1 FROM run r WHERE r.run_key = e.run_key AND r.thread_id = e.thread_id) LIMIT ?1"),
    ("step.run_key", "
        SELECT s.name, s.operation_id FROM step s WHERE NOT EXISTS (
            SELECT 1 FROM run r WHERE r.run_key = s.run_key) LIMIT ?1"),
    // No index finds the events of a run, so both sides are sorted once.
    ("message.run_key", "
        SELECT agent_id, run_key FROM message
        EXCEPT SELECT agent_id, run_key FROM event WHERE kind = 'message_admitted' LIMIT ?1"),
    ("run.run_key", "
        SELECT agent_id, run_key FROM run
        EXCEPT SELECT agent_id, run_key FROM event WHERE kind = 'run_started' LIMIT ?1"),
    ("decision.run_key", "
        SELECT d.agent_id, d.decision_id FROM decision d WHERE NOT EXISTS (
            SELECT 1 FROM run r WHERE r.run_key = d.run_key) LIMIT ?1"),
    ("wake.verdict", "
        SELECT w.agent_id, w.run_key FROM wake w WHERE w.verdict = 'run' AND NOT EXISTS (
            SELECT 1 FROM run r WHERE r.run_key = w.run_key) LIMIT ?1"),
    ("audit_entry.agent_id", "
        SELECT e.agent_id, e.seq FROM audit_entry e WHERE NOT EXISTS (
            SELECT 1 FROM agent_head h WHERE h.agent_id = e.agent_id) LIMIT ?1"),
    ("consent.used_seq", "
        SELECT c.agent_id, c.consent_id FROM consent c WHERE c.used_seq IS NULL OR NOT EXISTS (
            SELECT 1 FROM event e WHERE e.agent_id = c.agent_id AND e.seq = c.used_seq AND e.kind = 'content_erased') LIMIT ?1"),
    ("outbox_cursor.subscription_count", "
        SELECT '', a.subscription_count FROM outbox_cursor a WHERE a.subscription_count <> (SELECT COUNT(*) FROM subscription) LIMIT ?1"),
];

impl View<'_> {
    /// Returns some of the derived rows that violate one rule, or `None` after the last rule.
    pub fn inconsistencies(&mut self, rule: usize) -> Result<Option<Vec<Inconsistency>>> {
        let Some((place, query)) = RULES.get(rule) else {
            return Ok(None);
        };
        let rows = self.sql.query(query, &[limit(INCONSISTENCIES_MAX)])?.into_iter();
        let found = rows.map(|row| Inconsistency {
            place,
            row: crate::row_binding::key_text(row.into_values()),
        });
        Ok(Some(found.collect()))
    }
}

const LINES: &str = "
    SELECT position, run_key, role, content_hash, at_ms, sources FROM transcript_entry
    WHERE thread_id = ?1 AND run_key = ?2 AND position > ?3 ORDER BY position LIMIT ?4";

impl View<'_> {
    /// Returns the entries of a run in its thread after a position.
    pub fn placed_entries(&mut self, run: &RunRow, after: i64, at_most: u32) -> Result<Vec<PlacedEntry>> {
        let (thread, key) = (&run.thread_id, &run.run_key);
        let rows = self
            .sql
            .query(LINES, &[thread.into(), key.into(), after.into(), limit(at_most)])?;
        records(rows, |mut row| {
            Ok(PlacedEntry {
                position: row.int("transcript_entry.position")?,
                entry: TranscriptEntryRow {
                    run_key: RunKey(row.digest("transcript_entry.run_key")?),
                    role: row.word("transcript_entry.role", Role::parse)?,
                    content: BlobHash(row.digest("transcript_entry.content_hash")?),
                    at: row.millis("transcript_entry.at_ms")?,
                    sources: row.word("transcript_entry.sources", Sources::parse)?,
                },
            })
        })
    }
}

const ASKED: &str = "
    SELECT decision_id, agent_id, run_key, status, version, asked_at_ms, is_applied, body
    FROM decision WHERE run_key = ?1 ORDER BY asked_at_ms, decision_id LIMIT ?2";

impl View<'_> {
    /// Returns the decisions of a run, oldest first, each with its columns compared with its body.
    pub fn decisions_of_run(&mut self, run: &RunKey) -> Result<Vec<DecisionRow>> {
        records(self.sql.query(ASKED, &[run.into(), limit(ROWS_MAX)])?, read_asked)
    }
}

fn read_asked(mut row: Row) -> Result<DecisionRow> {
    let id = row.digest("decision.decision_id")?;
    let agent = row.text("decision.agent_id")?;
    let run = row.digest("decision.run_key")?;
    let status = row.text("decision.status")?;
    let version = row.int("decision.version")?;
    let asked_at = row.millis("decision.asked_at_ms")?;
    let is_applied = row.flag("decision.is_applied")?;
    let body = row.text("decision.body")?;
    let decision: Decision =
        serde_json::from_str(&body).map_err(|_| StoreError::Malformed("decision.body"))?;
    let compared = [
        (decision.inquiry.decision_id.0 == id, "decision.decision_id"),
        (decision.agent_id.as_str() == agent, "decision.agent_id"),
        (decision.run_key.0 == run, "decision.run_key"),
        (decision.status.as_str() == status, "decision.status"),
        (i64::from(decision.version) == version, "decision.version"),
        (decision.asked_at == asked_at, "decision.asked_at_ms"),
    ];
    match compared.into_iter().find(|(is_same, _)| !is_same) {
        Some((_, column)) => Err(StoreError::Malformed(column)),
        None => Ok(DecisionRow { decision, is_applied }),
    }
}

const PLACES: &str = "
    SELECT agent_id, seq, run_key, rank, due_at_ms, admitted_at_ms FROM queue
    WHERE (agent_id, seq) > (?1, ?2) ORDER BY agent_id, seq LIMIT ?3";

impl View<'_> {
    /// Returns queue rows after a position, ordered by agent and position.
    pub fn queue_positions(
        &mut self,
        after: Option<(&AgentId, u64)>,
        at_most: u32,
    ) -> Result<Vec<QueuePosition>> {
        let (agent, seq) = after.map_or(("", 0), |(agent, seq)| (agent.as_str(), seq));
        records(
            self.sql
                .query(PLACES, &[agent.into(), seq.into(), limit(at_most)])?,
            |mut row| {
                Ok(QueuePosition {
                    agent_id: row.agent_id("queue.agent_id")?,
                    seq: row.count("queue.seq")?,
                    run_key: RunKey(row.digest("queue.run_key")?),
                    rank: row.int("queue.rank")?,
                    not_before: row.optional_millis("queue.due_at_ms")?,
                    admitted_at: row.millis("queue.admitted_at_ms")?,
                })
            },
        )
    }
}

const WAKE_SOURCE: &str = "SELECT source FROM wake WHERE run_key = ?1";

impl View<'_> {
    /// Returns the source of a wake's cause, from the `source` column of the wake record.
    pub fn wake_source(&mut self, run: &RunKey) -> Result<Option<SourceName>> {
        let row = at_most_one(self.sql.query(WAKE_SOURCE, &[run.into()])?);
        row.map(|mut row| row.text("wake.source").map(SourceName::new))
            .transpose()
    }
}

const NOTICES: &str = "
    SELECT agent_id, seq, body, at_ms FROM agent_outbox WHERE (agent_id, seq) > (?1, ?2) ORDER BY agent_id, seq LIMIT ?3";

impl View<'_> {
    /// Returns undispatched agent notices after a position, ordered by agent and event.
    pub fn notices(&mut self, after: Option<(&AgentId, u64)>, at_most: u32) -> Result<Vec<NoticeRow>> {
        let (agent, seq) = after.map_or(("", 0), |(agent, seq)| (agent.as_str(), seq));
        let rows = self
            .sql
            .query(NOTICES, &[agent.into(), seq.into(), limit(at_most)])?;
        records(rows, |mut row| {
            Ok(NoticeRow {
                agent_id: row.agent_id("agent_outbox.agent_id")?,
                seq: row.count("agent_outbox.seq")?,
                notice: row.word("agent_outbox.body", |json| serde_json::from_str(json).ok())?,
                at: row.millis("agent_outbox.at_ms")?,
            })
        })
    }
}

const DELIVERIES: &str = "
    SELECT external_trigger_id, delivery_id, at_ms FROM external_trigger_delivery
    WHERE (external_trigger_id, delivery_id) > (?1, ?2) ORDER BY external_trigger_id, delivery_id LIMIT ?3";

impl View<'_> {
    /// Returns stored deliveries after a position, ordered by trigger and delivery id.
    pub fn deliveries(&mut self, after: Option<&DeliveryRow>, at_most: u32) -> Result<Vec<DeliveryRow>> {
        let (trigger, delivery) =
            after.map_or(("", ""), |row| (row.trigger_id.as_str(), row.delivery.as_str()));
        let rows = self
            .sql
            .query(DELIVERIES, &[trigger.into(), delivery.into(), limit(at_most)])?;
        records(rows, |mut row| {
            Ok(DeliveryRow {
                trigger_id: row.rule_id("external_trigger_delivery.external_trigger_id")?,
                delivery: row.text("external_trigger_delivery.delivery_id")?,
                at: row.millis("external_trigger_delivery.at_ms")?,
            })
        })
    }
}

const MARKS: &str = "
    SELECT prune_level, (SELECT COUNT(*) FROM run_log j WHERE j.run_key = run.run_key) FROM run WHERE run_key = ?1";

impl View<'_> {
    /// Returns what retention removed from a run, or `None` if the run does not exist.
    pub fn run_prune_state(&mut self, run: &RunKey) -> Result<Option<RunPruneState>> {
        let row = at_most_one(self.sql.query(MARKS, &[run.into()])?);
        row.map(|mut row| {
            Ok(RunPruneState {
                pruned: row.int("run.prune_level")?,
                journal_rows: row.int("run_log.ordinal")?,
            })
        })
        .transpose()
    }
}
