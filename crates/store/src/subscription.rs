//! Subscriptions, the outbox cursor, and the outbox of agent notices.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

use crate::rows::{
    AgentOutboxRow, OutboxCursor, OutboxCursorRow, SubscribeOutcome, SubscriptionKey, SubscriptionRow,
};
use crate::sql::{Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{Result, StoreError, Tx, View, row_binding};

const OUTBOX_CURSOR: &str =
    "SELECT subscription_version, subscription_count, journal_seq, journal_dispatched_to FROM outbox_cursor";

impl View<'_> {
    /// Returns the cursor of the journal's outbox and the version of the subscriptions.
    pub fn outbox_cursor(&mut self) -> Result<OutboxCursorRow> {
        let row = at_most_one(self.sql.query(OUTBOX_CURSOR, &[])?);
        let mut row = row.ok_or(StoreError::Malformed("outbox_cursor"))?;
        Ok(OutboxCursorRow {
            version: row.count("outbox_cursor.subscription_version")?,
            subscriptions: row.count("outbox_cursor.subscription_count")?,
            cursor: OutboxCursor {
                seq: row.count("outbox_cursor.journal_seq")?,
                done: place(
                    row.optional_text("outbox_cursor.journal_dispatched_to")?,
                    "outbox_cursor.journal_dispatched_to",
                )?,
            },
        })
    }
}

fn place(text: Option<String>, column: &'static str) -> Result<Option<SubscriptionKey>> {
    let parse = |text: String| SubscriptionKey::parse(&text).ok_or(StoreError::Malformed(column));
    text.map(parse).transpose()
}

const ONE: &str = "
    SELECT subscription_id, agent_id, spec, after_journal_seq, last_due_at_ms, created_at_ms, is_active, after_version FROM subscription
    WHERE subscription_id = ?1";

impl View<'_> {
    pub fn subscription(&mut self, id: &RuleId) -> Result<Option<SubscriptionRow>> {
        at_most_one(self.sql.query(ONE, &[id.into()])?)
            .map(read)
            .transpose()
    }
}

const ALL: &str = "
    SELECT subscription_id, agent_id, spec, after_journal_seq, last_due_at_ms, created_at_ms, is_active, after_version FROM subscription
    WHERE subscription_id > ?1 ORDER BY subscription_id LIMIT ?2";

const OF_AGENT: &str = "
    SELECT subscription_id, agent_id, spec, after_journal_seq, last_due_at_ms, created_at_ms, is_active, after_version FROM subscription
    WHERE agent_id = ?3 AND subscription_id > ?1 ORDER BY subscription_id LIMIT ?2";

impl View<'_> {
    /// Returns subscriptions of one agent or of all after one, by name.
    pub fn subscriptions(
        &mut self,
        agent: Option<&AgentId>,
        after: Option<&RuleId>,
        at_most: u32,
    ) -> Result<Vec<SubscriptionRow>> {
        let after = after.map_or("", RuleId::as_str);
        let rows = match agent {
            Some(agent) => self
                .sql
                .query(OF_AGENT, &[after.into(), limit(at_most), agent.into()])?,
            None => self.sql.query(ALL, &[after.into(), limit(at_most)])?,
        };
        records(rows, read)
    }
}

fn read(mut row: Row) -> Result<SubscriptionRow> {
    Ok(SubscriptionRow {
        subscription_id: rule_id(&mut row)?,
        agent_id: row.agent_id("subscription.agent_id")?,
        spec: row.word("subscription.spec", |json| serde_json::from_str(json).ok())?,
        journal_seq: row.count("subscription.after_journal_seq")?,
        last_due: row.optional_millis("subscription.last_due_at_ms")?,
        created_at: row.millis("subscription.created_at_ms")?,
        is_active: row.flag("subscription.is_active")?,
        version: row.count("subscription.after_version")?,
    })
}

fn rule_id(row: &mut Row) -> Result<RuleId> {
    row.word("subscription.subscription_id", |text| RuleId::parse(text).ok())
}

const LOCK: &str = "UPDATE outbox_cursor SET subscription_version = subscription_version";

impl Tx<'_> {
    /// Locks the subscriptions until this transaction ends. Call it before locking an agent's head:
    /// dispatch locks in this order, and another order could deadlock.
    pub fn lock_subscriptions(&mut self) -> Result<()> {
        exactly_one(self.sql.execute(LOCK, &[])?)
    }
}

/// Locks the row against all other changes of subscriptions, and therefore comes first.
const COUNT_IN: &str = "
    UPDATE outbox_cursor SET subscription_version = subscription_version + 1, subscription_count = subscription_count + 1 WHERE subscription_count < ?1
    RETURNING subscription_version";

const COUNT_OF_AGENT: &str = "SELECT COUNT(*) FROM subscription WHERE agent_id = ?1";

const PUT: &str = "
    INSERT INTO subscription
        (subscription_id, agent_id, spec, matches_agent_notices, after_journal_seq, last_due_at_ms, created_at_ms, is_active, after_version)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const TAKE_BACK: &str = "UPDATE outbox_cursor SET subscription_version = subscription_version - 1, subscription_count = subscription_count - 1";

impl Tx<'_> {
    /// Stores a subscription, unless its agent already has `of_agent` of them or all agents together have
    /// `in_all`. Its version is the new version of the subscriptions; the one in the row is ignored.
    pub fn put_subscription(
        &mut self,
        new: &SubscriptionRow,
        of_agent: u64,
        in_all: u64,
    ) -> Result<SubscribeOutcome> {
        let counted = at_most_one(self.sql.query(COUNT_IN, &[in_all.into()])?);
        // Read after locking, so that no other transaction changes subscriptions.
        let known = self.subscription(&new.subscription_id)?;
        let mut agents = at_most_one(self.sql.query(COUNT_OF_AGENT, &[(&new.agent_id).into()])?)
            .ok_or(StoreError::Malformed("subscription"))?;
        let is_full = agents.count("subscription")? >= of_agent;
        let refused = match (known, &counted) {
            (Some(known), _) if known.agent_id == new.agent_id && known.spec == new.spec => {
                Some(SubscribeOutcome::Same)
            }
            (Some(_), _) => Some(SubscribeOutcome::Differs),
            (None, None) => Some(SubscribeOutcome::Full),
            (None, Some(_)) => is_full.then_some(SubscribeOutcome::AgentFull),
        };
        let (mut row, refused) = match (counted, refused) {
            (Some(row), refused) => (row, refused),
            (None, refused) => return Ok(refused.unwrap_or(SubscribeOutcome::Full)),
        };
        if let Some(refused) = refused {
            self.sql.execute(TAKE_BACK, &[])?;
            return Ok(refused);
        }
        let terms =
            serde_json::to_string(&new.spec).map_err(|_| StoreError::Malformed("subscription.spec"))?;
        let version = row.count("outbox_cursor.subscription_version")?;
        let params = [
            (&new.subscription_id).into(),
            (&new.agent_id).into(),
            terms.as_str().into(),
            u32::from(new.spec.concerns_agents()).into(),
            new.journal_seq.into(),
            new.last_due.into(),
            new.created_at.into(),
            new.is_active.into(),
            version.into(),
        ];
        self.sql.touch(
            &row_binding::SUBSCRIPTION,
            &[(&new.subscription_id).into()],
            Some(new.created_at),
        );
        exactly_one(self.sql.execute(PUT, &params)?)?;
        Ok(SubscribeOutcome::New(version))
    }
}

const DROP: &str = "DELETE FROM subscription WHERE subscription_id = ?1";

/// Before the subscription itself, because a different lock order could deadlock.
const COUNT_OUT: &str = "
    UPDATE outbox_cursor SET subscription_version = subscription_version + 1, subscription_count = subscription_count - 1
    WHERE EXISTS (SELECT 1 FROM subscription WHERE subscription_id = ?1) RETURNING subscription_version";

impl Tx<'_> {
    /// Deletes a subscription and returns the new version of the subscriptions, or `None` if it did not
    /// exist.
    pub fn delete_subscription(&mut self, id: &RuleId) -> Result<Option<u64>> {
        let Some(mut row) = at_most_one(self.sql.query(COUNT_OUT, &[id.into()])?) else {
            return Ok(None);
        };
        self.sql.touch(&row_binding::SUBSCRIPTION, &[id.into()], None);
        exactly_one(self.sql.execute(DROP, &[id.into()])?)?;
        row.count("outbox_cursor.subscription_version").map(Some)
    }
}

/// Before the subscription itself, as above.
const COUNT_CHANGE: &str = "
    UPDATE outbox_cursor SET subscription_version = subscription_version + 1
    WHERE EXISTS (SELECT 1 FROM subscription WHERE subscription_id = ?1) RETURNING subscription_version";

const SET_ACTIVE: &str = "
    UPDATE subscription SET is_active = ?2, after_journal_seq = ?3, after_version = ?4 WHERE subscription_id = ?1";

impl Tx<'_> {
    /// Pauses a subscription, or resumes it from the newest change given in the row. Returns the new
    /// version of the subscriptions, which a resumed subscription also gets, or `None` if the subscription
    /// does not exist.
    pub fn set_active(&mut self, row: &SubscriptionRow) -> Result<Option<u64>> {
        let id = &row.subscription_id;
        let Some(mut counted) = at_most_one(self.sql.query(COUNT_CHANGE, &[id.into()])?) else {
            return Ok(None);
        };
        let version = counted.count("outbox_cursor.subscription_version")?;
        let own = if row.is_active { version } else { row.version };
        let params = [
            id.into(),
            row.is_active.into(),
            row.journal_seq.into(),
            own.into(),
        ];
        self.sql.touch(&row_binding::SUBSCRIPTION, &[id.into()], None);
        exactly_one(self.sql.execute(SET_ACTIVE, &params)?)?;
        Ok(Some(version))
    }
}

const SET_SPEC: &str = "
    UPDATE subscription SET spec = ?2, matches_agent_notices = ?3 WHERE subscription_id = ?1";

impl Tx<'_> {
    /// Stores the terms of the row. Which changes the subscription may match stays as it is. Returns the new
    /// version of the subscriptions, or `None` if the subscription does not exist.
    pub fn set_subscription_spec(&mut self, row: &SubscriptionRow) -> Result<Option<u64>> {
        let id = &row.subscription_id;
        let Some(mut counted) = at_most_one(self.sql.query(COUNT_CHANGE, &[id.into()])?) else {
            return Ok(None);
        };
        let terms =
            serde_json::to_string(&row.spec).map_err(|_| StoreError::Malformed("subscription.spec"))?;
        let params = [
            id.into(),
            terms.as_str().into(),
            u32::from(row.spec.concerns_agents()).into(),
        ];
        self.sql.touch(&row_binding::SUBSCRIPTION, &[id.into()], None);
        exactly_one(self.sql.execute(SET_SPEC, &params)?)?;
        counted.count("outbox_cursor.subscription_version").map(Some)
    }
}

const LAST_DUE: &str = "UPDATE subscription SET last_due_at_ms = ?2 WHERE subscription_id = ?1";

impl Tx<'_> {
    /// Stores the time from which the newest message of a subscription may start.
    pub fn set_last_due(&mut self, id: &RuleId, due: Millis) -> Result<()> {
        self.sql.execute(LAST_DUE, &[id.into(), due.into()]).map(drop)
    }
}

const MOVE: &str = "
    UPDATE outbox_cursor SET journal_seq = ?4, journal_dispatched_to = ?5
    WHERE subscription_version = ?1 AND journal_seq = ?2 AND COALESCE(journal_dispatched_to, '') = ?3";

impl Tx<'_> {
    /// Advances the cursor of the journal's outbox. Fails with [`StoreError::Conflict`] if the cursor or
    /// the subscriptions have changed since they were read. Locks them until the transaction ends.
    pub fn advance_outbox_cursor(&mut self, seen: &OutboxCursorRow, next: &OutboxCursor) -> Result<()> {
        let done = |cursor: &OutboxCursor| cursor.done.as_ref().map(SubscriptionKey::to_text);
        let (seen_done, next_done) = (done(&seen.cursor).unwrap_or_default(), done(next));
        let params = [
            seen.version.into(),
            seen.cursor.seq.into(),
            seen_done.as_str().into(),
            next.seq.into(),
            next_done.as_deref().into(),
        ];
        exactly_one(self.sql.execute(MOVE, &params)?)
    }
}

const RUN_OF: &str = "SELECT run_key FROM step WHERE operation_id = ?1";

impl View<'_> {
    /// Returns the run to which an operation belongs as a step.
    pub fn run_of_operation(&mut self, operation: &OperationId) -> Result<Option<RunKey>> {
        let row = at_most_one(self.sql.query(RUN_OF, &[operation.into()])?);
        row.map(|mut row| row.digest("step.run_key").map(RunKey))
            .transpose()
    }
}

const WANTED: &str = "SELECT subscription_id FROM subscription WHERE matches_agent_notices = 1 LIMIT 1";

const APPEND_NOTICE: &str = "
    INSERT INTO agent_outbox (agent_id, seq, body, dispatched_to, at_ms, subscription_version)
    VALUES (?1, ?2, ?3, NULL, ?4, (SELECT subscription_version FROM outbox_cursor))";

impl Tx<'_> {
    /// Adds an agent notice to the outbox if any subscription matches agent notices, and returns whether it
    /// did. Its version is the current one of the subscriptions; the one in the row is ignored.
    pub fn append_agent_notice(&mut self, row: &AgentOutboxRow) -> Result<bool> {
        if self.sql.query(WANTED, &[])?.is_empty() {
            return Ok(false);
        }
        let body = serde_json::to_string(&row.agent_notice)
            .map_err(|_| StoreError::Malformed("agent_outbox.body"))?;
        let params = [
            (&row.agent_id).into(),
            row.seq.into(),
            body.as_str().into(),
            row.at.into(),
        ];
        Ok(self.sql.execute(APPEND_NOTICE, &params)? == 1)
    }
}

const NOTICES: &str = "
    SELECT agent_id, seq, body, dispatched_to, at_ms, subscription_version FROM agent_outbox ORDER BY subscription_version, at_ms, agent_id, seq LIMIT ?1";

impl View<'_> {
    /// Returns agent notices that are not dispatched yet, oldest first.
    pub fn agent_outbox(&mut self, at_most: u32) -> Result<Vec<AgentOutboxRow>> {
        records(self.sql.query(NOTICES, &[limit(at_most)])?, |mut row| {
            Ok(AgentOutboxRow {
                agent_id: row.agent_id("agent_outbox.agent_id")?,
                seq: row.count("agent_outbox.seq")?,
                agent_notice: row.word("agent_outbox.body", |json| serde_json::from_str(json).ok())?,
                done: place(
                    row.optional_text("agent_outbox.dispatched_to")?,
                    "agent_outbox.dispatched_to",
                )?,
                at: row.millis("agent_outbox.at_ms")?,
                version: row.count("agent_outbox.subscription_version")?,
            })
        })
    }
}

const DELETE_NOTICE: &str =
    "DELETE FROM agent_outbox WHERE agent_id = ?1 AND seq = ?2 AND COALESCE(dispatched_to, '') = ?3";

const ADVANCE_NOTICE: &str = "
    UPDATE agent_outbox SET dispatched_to = ?4 WHERE agent_id = ?1 AND seq = ?2 AND COALESCE(dispatched_to, '') = ?3";

impl Tx<'_> {
    /// Stores the last candidate to which an agent notice was dispatched, or deletes the notice after the
    /// last one. Fails with [`StoreError::Conflict`] if another writer was first.
    pub fn advance_agent_notice(
        &mut self,
        seen: &AgentOutboxRow,
        next: Option<&SubscriptionKey>,
    ) -> Result<()> {
        let done = seen
            .done
            .as_ref()
            .map(SubscriptionKey::to_text)
            .unwrap_or_default();
        let next = next.map(SubscriptionKey::to_text);
        let touched = match &next {
            None => self.sql.execute(
                DELETE_NOTICE,
                &[(&seen.agent_id).into(), seen.seq.into(), done.as_str().into()],
            )?,
            Some(next) => {
                let params = [
                    (&seen.agent_id).into(),
                    seen.seq.into(),
                    done.as_str().into(),
                    next.as_str().into(),
                ];
                self.sql.execute(ADVANCE_NOTICE, &params)?
            }
        };
        exactly_one(touched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::plan;

    // Conformance: L-194
    /// Matching by token happens in memory and needs no index here.
    #[test]
    fn subscriptions_are_found_by_their_own_indexes() {
        for (query, index) in [
            (OF_AGENT, "subscription_of_agent"),
            (COUNT_OF_AGENT, "subscription_of_agent"),
            (WANTED, "subscription_matching_agent_notices"),
        ] {
            let plan = plan(query);
            assert!(
                plan.iter().any(|line| line.contains(index)),
                "{index}: {query}: {plan:?}"
            );
        }
    }
}
