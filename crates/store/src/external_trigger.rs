//! External triggers and their deliveries.

use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;

use crate::rows::ExternalTriggerRow;
use crate::sql::{Row, Sql, at_most_one, exactly_one};
use crate::{Result, Tx, View, row_binding};

const ONE: &str = "
    SELECT external_trigger_id, agent_id, generation, is_active, trigger_count, last_triggered_at_ms, created_at_ms FROM external_trigger
    WHERE external_trigger_id = ?1";

impl View<'_> {
    pub fn trigger(&mut self, id: &RuleId) -> Result<Option<ExternalTriggerRow>> {
        at_most_one(self.sql.query(ONE, &[id.into()])?)
            .map(read)
            .transpose()
    }
}

const OF_AGENT: &str = "
    SELECT external_trigger_id, agent_id, generation, is_active, trigger_count, last_triggered_at_ms, created_at_ms FROM external_trigger
    WHERE agent_id = ?1";

impl View<'_> {
    pub fn trigger_of(&mut self, agent: &AgentId) -> Result<Option<ExternalTriggerRow>> {
        at_most_one(self.sql.query(OF_AGENT, &[agent.into()])?)
            .map(read)
            .transpose()
    }
}

fn read(mut row: Row) -> Result<ExternalTriggerRow> {
    Ok(ExternalTriggerRow {
        trigger_id: row.rule_id("external_trigger.external_trigger_id")?,
        agent_id: row.agent_id("external_trigger.agent_id")?,
        generation: row.count("external_trigger.generation")?,
        status: match row.flag("external_trigger.is_active")? {
            true => TriggerStatus::Active,
            false => TriggerStatus::Revoked,
        },
        delivered: row.count("external_trigger.trigger_count")?,
        last_at: row.optional_millis("external_trigger.last_triggered_at_ms")?,
        created_at: row.millis("external_trigger.created_at_ms")?,
    })
}

const PUT: &str = "
    INSERT INTO external_trigger (external_trigger_id, agent_id, generation, is_active, trigger_count, last_triggered_at_ms, created_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (external_trigger_id) DO UPDATE SET generation = excluded.generation, is_active = excluded.is_active,
        trigger_count = excluded.trigger_count, last_triggered_at_ms = excluded.last_triggered_at_ms";

impl Tx<'_> {
    pub fn put_trigger(&mut self, row: &ExternalTriggerRow) -> Result<()> {
        let params = [
            (&row.trigger_id).into(),
            (&row.agent_id).into(),
            row.generation.into(),
            (row.status == TriggerStatus::Active).into(),
            row.delivered.into(),
            row.last_at.into(),
            row.created_at.into(),
        ];
        // Counting a delivery changes no bound column. Writers hold the agent's head, so no other
        // transaction changes the row.
        let kept = self.trigger(&row.trigger_id)?;
        let is_counted_only =
            kept.is_some_and(|kept| kept.generation == row.generation && kept.status == row.status);
        if !is_counted_only {
            let at = row.last_at.or(Some(row.created_at));
            self.sql
                .touch(&row_binding::TRIGGER, &[(&row.trigger_id).into()], at);
        }
        exactly_one(self.sql.execute(PUT, &params)?)
    }
}

const SECRET: &str = "SELECT secret FROM external_trigger_secret";

impl View<'_> {
    /// Returns the secret from which trigger URLs are derived, or `None` before the first trigger exists.
    pub fn trigger_secret(&mut self) -> Result<Option<Digest>> {
        let row = at_most_one(self.sql.query(SECRET, &[])?);
        row.map(|mut row| row.digest("external_trigger_secret.secret"))
            .transpose()
    }
}

const PUT_SECRET: &str = "
    INSERT INTO external_trigger_secret (row_id, secret) VALUES (1, ?1) ON CONFLICT (row_id) DO NOTHING";

impl Tx<'_> {
    /// Stores the secret unless one exists.
    pub fn put_trigger_secret(&mut self, secret: &Digest, at: Millis) -> Result<()> {
        if self.sql.execute(PUT_SECRET, &[secret.into()])? > 0 {
            self.sql.touch(&row_binding::SECRET, &[1_i64.into()], Some(at));
        }
        Ok(())
    }
}

const DELIVERED: &str =
    "SELECT at_ms FROM external_trigger_delivery WHERE external_trigger_id = ?1 AND delivery_id = ?2";

impl View<'_> {
    /// Returns when a delivery was accepted, if it is still stored.
    pub fn delivered_at(&mut self, trigger: &RuleId, delivery: &str) -> Result<Option<Millis>> {
        let row = at_most_one(self.sql.query(DELIVERED, &[trigger.into(), delivery.into()])?);
        row.map(|mut row| row.millis("external_trigger_delivery.at_ms"))
            .transpose()
    }
}

const NOTE: &str = "
    INSERT INTO external_trigger_delivery (external_trigger_id, delivery_id, at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (external_trigger_id, delivery_id) DO NOTHING";

impl Tx<'_> {
    /// Stores a delivery, so that a repetition is recognized.
    pub fn record_delivery(&mut self, trigger: &RuleId, delivery: &str, at: Millis) -> Result<()> {
        self.sql
            .execute(NOTE, &[trigger.into(), delivery.into(), at.into()])
            .map(drop)
    }
}

const FORGET: &str = "
    DELETE FROM external_trigger_delivery WHERE external_trigger_id = ?1 AND (at_ms < ?2 OR at_ms < (
        SELECT MIN(newest.at_ms) FROM (
            SELECT at_ms FROM external_trigger_delivery WHERE external_trigger_id = ?1 ORDER BY at_ms DESC LIMIT ?3) AS newest))";

impl Tx<'_> {
    /// Deletes deliveries older than `before`, and the oldest beyond `most`.
    pub fn delete_deliveries(&mut self, trigger: &RuleId, before: Millis, most: u32) -> Result<()> {
        self.sql
            .execute(FORGET, &[trigger.into(), before.into(), most.into()])
            .map(drop)
    }
}
