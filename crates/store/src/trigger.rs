//! Triggers of systems outside, and what came by them.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::Digest;
use wakeful_core::time::Millis;

use crate::StoreError;
use crate::bound;
use crate::rows::TriggerRow;
use crate::sql::{Row, Sql, at_most_one, exactly_one};

const ONE: &str = "
    SELECT trigger_id, agent_id, generation, is_active, delivered, last_at_ms, created_at_ms FROM outside_trigger
    WHERE trigger_id = ?1";

/// One trigger.
pub(crate) fn one(sql: &mut dyn Sql, id: &RuleId) -> Result<Option<TriggerRow>, StoreError> {
    at_most_one(sql.query(ONE, &[id.into()])?).map(read).transpose()
}

const OF_AGENT: &str = "
    SELECT trigger_id, agent_id, generation, is_active, delivered, last_at_ms, created_at_ms FROM outside_trigger
    WHERE agent_id = ?1";

/// The trigger of an agent.
pub(crate) fn of_agent(sql: &mut dyn Sql, agent: &AgentId) -> Result<Option<TriggerRow>, StoreError> {
    at_most_one(sql.query(OF_AGENT, &[agent.into()])?)
        .map(read)
        .transpose()
}

fn read(mut row: Row) -> Result<TriggerRow, StoreError> {
    Ok(TriggerRow {
        trigger_id: row.rule_id("outside_trigger.trigger_id")?,
        agent_id: row.agent_id("outside_trigger.agent_id")?,
        generation: row.count("outside_trigger.generation")?,
        is_active: row.flag("outside_trigger.is_active")?,
        delivered: row.count("outside_trigger.delivered")?,
        last_at: row.optional_millis("outside_trigger.last_at_ms")?,
        created_at: row.millis("outside_trigger.created_at_ms")?,
    })
}

const PUT: &str = "
    INSERT INTO outside_trigger (trigger_id, agent_id, generation, is_active, delivered, last_at_ms, created_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (trigger_id) DO UPDATE SET generation = excluded.generation, is_active = excluded.is_active,
        delivered = excluded.delivered, last_at_ms = excluded.last_at_ms";

/// Keeps a trigger as it now stands.
pub(crate) fn put(sql: &mut dyn Sql, row: &TriggerRow) -> Result<(), StoreError> {
    let params = [
        (&row.trigger_id).into(),
        (&row.agent_id).into(),
        row.generation.into(),
        row.is_active.into(),
        row.delivered.into(),
        row.last_at.into(),
        row.created_at.into(),
    ];
    // Counting a delivery changes nothing that is bound. Writers hold the head of the agent, so no other changes it.
    let kept = one(sql, &row.trigger_id)?;
    let is_counted_only =
        kept.is_some_and(|kept| kept.generation == row.generation && kept.is_active == row.is_active);
    if !is_counted_only {
        let at = row.last_at.or(Some(row.created_at));
        sql.touch(&bound::TRIGGER, &[(&row.trigger_id).into()], at);
    }
    exactly_one(sql.execute(PUT, &params)?)
}

const SECRET: &str = "SELECT secret FROM outside_secret";

/// What the addresses of triggers are made with.
pub(crate) fn secret(sql: &mut dyn Sql) -> Result<Option<Digest>, StoreError> {
    let row = at_most_one(sql.query(SECRET, &[])?);
    row.map(|mut row| row.digest("outside_secret.secret")).transpose()
}

const PUT_SECRET: &str = "
    INSERT INTO outside_secret (row_id, secret) VALUES (1, ?1) ON CONFLICT (row_id) DO NOTHING";

/// Keeps a secret where there is none. The first one stands.
pub(crate) fn put_secret(sql: &mut dyn Sql, secret: &Digest, at: Millis) -> Result<(), StoreError> {
    if sql.execute(PUT_SECRET, &[secret.into()])? > 0 {
        sql.touch(&bound::SECRET, &[1_i64.into()], Some(at));
    }
    Ok(())
}

const DELIVERED: &str = "SELECT at_ms FROM outside_delivery WHERE trigger_id = ?1 AND delivery = ?2";

/// When a delivery was taken in before, as far as that is remembered.
pub(crate) fn delivered_at(
    sql: &mut dyn Sql,
    trigger: &RuleId,
    delivery: &str,
) -> Result<Option<Millis>, StoreError> {
    let row = at_most_one(sql.query(DELIVERED, &[trigger.into(), delivery.into()])?);
    row.map(|mut row| row.millis("outside_delivery.at_ms"))
        .transpose()
}

const NOTE: &str = "
    INSERT INTO outside_delivery (trigger_id, delivery, at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (trigger_id, delivery) DO NOTHING";

/// Remembers a delivery.
pub(crate) fn note(
    sql: &mut dyn Sql,
    trigger: &RuleId,
    delivery: &str,
    at: Millis,
) -> Result<(), StoreError> {
    sql.execute(NOTE, &[trigger.into(), delivery.into(), at.into()])
        .map(drop)
}

const FORGET: &str = "
    DELETE FROM outside_delivery WHERE trigger_id = ?1 AND (at_ms < ?2 OR at_ms < (
        SELECT MIN(newest.at_ms) FROM (
            SELECT at_ms FROM outside_delivery WHERE trigger_id = ?1 ORDER BY at_ms DESC LIMIT ?3) AS newest))";

/// Forgets deliveries that came before a moment, and those beyond so many.
pub(crate) fn forget(
    sql: &mut dyn Sql,
    trigger: &RuleId,
    before: Millis,
    most: u32,
) -> Result<(), StoreError> {
    sql.execute(FORGET, &[trigger.into(), before.into(), most.into()])
        .map(drop)
}
