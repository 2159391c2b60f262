//! Decisions: questions to people, and their answers.

use wakeful_core::decision::Decision;
use wakeful_core::key::{DecisionId, RunKey};

use crate::rows::{DecisionFilter, HumanBacklog};
use crate::run::{PREFIX_MATCHES_MAX, range};
use crate::sql::{Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View};

const ASK: &str = "
    INSERT INTO decision (decision_id, agent_id, run_key, status, version, asked_at_ms, is_applied, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)
    ON CONFLICT (decision_id) DO NOTHING";

const CHANGE: &str = "
    UPDATE decision SET status = ?3, version = ?4, body = ?5
    WHERE decision_id = ?1 AND version = ?2 AND status = 'pending'";

impl Tx<'_> {
    /// Stores a decision: a new one if `expected` is 0, otherwise the successor of version `expected`.
    pub fn put_decision(&mut self, decision: &Decision, expected: u32) -> Result<()> {
        let body = serde_json::to_string(decision).map_err(|_| StoreError::Malformed("decision.body"))?;
        let (id, status) = (&decision.inquiry.decision_id, decision.status.as_str());
        let changed = if expected == 0 {
            let params = [
                id.into(),
                (&decision.agent_id).into(),
                (&decision.run_key).into(),
                status.into(),
                decision.version.into(),
                decision.asked_at.into(),
                body.as_str().into(),
            ];
            self.sql.execute(ASK, &params)?
        } else {
            let version = decision.version.into();
            self.sql.execute(
                CHANGE,
                &[
                    id.into(),
                    expected.into(),
                    status.into(),
                    version,
                    body.as_str().into(),
                ],
            )?
        };
        exactly_one(changed)
    }
}

const APPLY: &str = "UPDATE decision SET is_applied = 1 WHERE decision_id = ?1 AND is_applied = 0";

impl Tx<'_> {
    /// Records that the run has received the outcome of a decision.
    pub fn apply_decision(&mut self, decision: &DecisionId) -> Result<()> {
        exactly_one(self.sql.execute(APPLY, &[decision.into()])?)
    }
}

const ONE: &str = "SELECT body FROM decision WHERE decision_id = ?1";

impl View<'_> {
    pub fn decision(&mut self, decision: &DecisionId) -> Result<Option<Decision>> {
        let rows = self.sql.query(ONE, &[decision.into()])?;
        at_most_one(rows).map(read).transpose()
    }
}

pub(crate) const PENDING: &str =
    "SELECT body FROM decision WHERE status = 'pending' ORDER BY asked_at_ms, decision_id LIMIT ?1";

pub(crate) const ALL: &str = "SELECT body FROM decision ORDER BY asked_at_ms DESC, decision_id LIMIT ?1";

pub(crate) const OF_RUN: &str = "
    SELECT body FROM decision WHERE run_key = ?2 ORDER BY asked_at_ms, decision_id LIMIT ?1";

const PENDING_OF_RUN: &str = "
    SELECT body FROM decision WHERE run_key = ?2 AND status = 'pending' ORDER BY asked_at_ms, decision_id LIMIT ?1";

impl View<'_> {
    /// Lists decisions: pending ones and those of one run oldest first, all of them newest first.
    pub fn decisions(&mut self, filter: &DecisionFilter) -> Result<Vec<Decision>> {
        let at_most = limit(filter.limit);
        let rows = match (&filter.run_key, filter.pending_only) {
            (Some(run), true) => self.sql.query(PENDING_OF_RUN, &[at_most, run.into()])?,
            (Some(run), false) => self.sql.query(OF_RUN, &[at_most, run.into()])?,
            (None, true) => self.sql.query(PENDING, &[at_most])?,
            (None, false) => self.sql.query(ALL, &[at_most])?,
        };
        records(rows, read)
    }
}

const BETWEEN: &str = "
    SELECT decision_id FROM decision WHERE decision_id >= ?1 AND decision_id <= ?2 ORDER BY decision_id LIMIT ?3";

impl View<'_> {
    /// Returns the ids of decisions that start with these hex digits, at most [`PREFIX_MATCHES_MAX`].
    pub fn decisions_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<DecisionId>> {
        let Some((first, last)) = range(hex_prefix) else {
            return Ok(Vec::new());
        };
        let params = [(&first).into(), (&last).into(), limit(PREFIX_MATCHES_MAX)];
        let rows = self.sql.query(BETWEEN, &params)?;
        records(rows, |mut row| row.digest("decision.decision_id").map(DecisionId))
    }
}

pub(crate) const RULINGS: &str = "
    SELECT body FROM decision WHERE run_key = ?1 AND status <> 'pending' AND is_applied = 0
    ORDER BY asked_at_ms, decision_id LIMIT ?2";

impl View<'_> {
    /// Returns closed decisions of a run whose outcome it has not received yet, oldest first.
    pub fn decisions_to_apply(&mut self, run: &RunKey) -> Result<Vec<Decision>> {
        records(self.sql.query(RULINGS, &[run.into(), limit(ROWS_MAX)])?, read)
    }
}

pub(crate) const OWED: &str = "
    SELECT (SELECT COUNT(*) FROM decision WHERE status = 'pending'),
        (SELECT COUNT(*) FROM run WHERE status = 'quarantined')";

impl View<'_> {
    /// Counts what requires a person, over all agents.
    pub fn human_backlog(&mut self) -> Result<HumanBacklog> {
        let row = at_most_one(self.sql.query(OWED, &[])?);
        let mut row = row.ok_or(StoreError::Malformed("decision"))?;
        Ok(HumanBacklog {
            pending_decisions: row.count("decision.pending")?,
            quarantined_runs: row.count("run.quarantined")?,
        })
    }
}

const ERASE: &str = "UPDATE decision SET body = ?2 WHERE decision_id = ?1";

/// Erases the text of a run's decisions: the proposed actions and the comments of people.
pub(crate) fn erase(tx: &mut Tx<'_>, run: &RunKey) -> Result<()> {
    let of_run = DecisionFilter {
        run_key: Some(*run),
        limit: ROWS_MAX,
        ..DecisionFilter::default()
    };
    for mut decision in tx.decisions(&of_run)? {
        decision.inquiry.input.clear();
        decision.inquiry.diff = None;
        decision.inquiry.targets.clear();
        decision.inquiry.evidence = None;
        if let Some(answer) = &mut decision.answer {
            answer.note = None;
        }
        let body = serde_json::to_string(&decision).map_err(|_| StoreError::Malformed("decision.body"))?;
        let id = &decision.inquiry.decision_id;
        tx.sql.execute(ERASE, &[id.into(), body.as_str().into()])?;
    }
    Ok(())
}

fn read(mut row: Row) -> Result<Decision> {
    let body = row.text("decision.body")?;
    serde_json::from_str(&body).map_err(|_| StoreError::Malformed("decision.body"))
}
