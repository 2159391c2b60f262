//! Delivery results of decision notifications.

use wakeful_core::decision::Severity;
use wakeful_core::key::DecisionId;

use crate::rows::DecisionNotificationRow;
use crate::sql::{Sql, limit, records};
use crate::{ROWS_MAX, Result, Tx, View};

/// A delivered notification stays delivered, even if a later attempt fails.
const PUT: &str = "
    INSERT INTO decision_notification (decision_id, severity, target, attempts, is_delivered, error, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (decision_id, severity, target) DO UPDATE
    SET attempts = excluded.attempts, is_delivered = excluded.is_delivered, error = excluded.error, at_ms = excluded.at_ms
    WHERE decision_notification.is_delivered = 0";

impl Tx<'_> {
    /// Stores whether a notification of a decision was delivered. The latest attempt replaces earlier ones,
    /// but a delivered notification stays delivered.
    pub fn put_announcement(&mut self, row: &DecisionNotificationRow) -> Result<()> {
        let params = [
            (&row.decision_id).into(),
            row.severity.as_str().into(),
            row.target.as_str().into(),
            row.tries.into(),
            i64::from(row.is_done).into(),
            row.error.as_deref().into(),
            row.at.into(),
        ];
        self.sql.execute(PUT, &params).map(drop)
    }
}

const OF: &str = "
    SELECT severity, target, attempts, is_delivered, error, at_ms FROM decision_notification WHERE decision_id = ?1
    ORDER BY at_ms, severity, target LIMIT ?2";

impl View<'_> {
    /// Returns the notifications of a decision, delivered or failed.
    pub fn announcements(&mut self, decision: &DecisionId) -> Result<Vec<DecisionNotificationRow>> {
        records(
            self.sql.query(OF, &[decision.into(), limit(ROWS_MAX)])?,
            |mut row| {
                Ok(DecisionNotificationRow {
                    decision_id: *decision,
                    severity: row.word("decision_notification.severity", Severity::parse)?,
                    target: row.text("decision_notification.target")?,
                    tries: row.small_count("decision_notification.attempts")?,
                    is_done: row.int("decision_notification.is_delivered")? == 1,
                    error: row.optional_text("decision_notification.error")?,
                    at: row.millis("decision_notification.at_ms")?,
                })
            },
        )
    }
}
