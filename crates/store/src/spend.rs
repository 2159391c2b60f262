//! What models cost: caps, reservations, and the sums of each day.

use wakeful_core::budget::{Day, MicroUsd, Spent, Sum};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

use crate::bound;
use crate::rows::{CapRow, ReceiptRow, Reservation, SpendDay};
use crate::sql::{Dialect, Param, Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, StoreError};

/// Stands for all agents together.
const ALL: &str = "";

const SET_CAP: &str = "
    INSERT INTO cap (agent_id, daily_microusd, set_at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (agent_id) DO UPDATE SET daily_microusd = excluded.daily_microusd, set_at_ms = excluded.set_at_ms";

const UNSET_CAP: &str = "DELETE FROM cap WHERE agent_id = ?1";

/// Sets a cap, or takes it away.
pub(crate) fn set_cap(
    sql: &mut dyn Sql,
    agent: Option<&AgentId>,
    daily: Option<MicroUsd>,
    at: Millis,
) -> Result<(), StoreError> {
    let scope = scope(agent);
    let written = match daily {
        Some(daily) => sql.execute(SET_CAP, &[scope, daily.0.into(), at.into()])?,
        None => sql.execute(UNSET_CAP, &[scope])?,
    };
    if written > 0 {
        sql.touch(&bound::CAP, &[scope], Some(at));
    }
    Ok(())
}

const CAPS: &str = "SELECT agent_id, daily_microusd, set_at_ms FROM cap ORDER BY agent_id LIMIT ?1";

/// The caps that people set; that of all agents first.
pub(crate) fn caps(sql: &mut dyn Sql) -> Result<Vec<CapRow>, StoreError> {
    records(sql.query(CAPS, &[limit(ROWS_MAX)])?, |mut row| {
        Ok(CapRow {
            agent_id: agent(&mut row, "cap.agent_id")?,
            daily: amount(&mut row, "cap.daily_microusd")?,
            set_at: row.millis("cap.set_at_ms")?,
        })
    })
}

const CAP: &str = "SELECT daily_microusd FROM cap WHERE agent_id = ?1";

/// The cap of one agent, or of all together.
pub(crate) fn cap(sql: &mut dyn Sql, agent: Option<&AgentId>) -> Result<Option<MicroUsd>, StoreError> {
    let rows = sql.query(CAP, &[scope(agent)])?;
    at_most_one(rows)
        .map(|mut row| amount(&mut row, "cap.daily_microusd"))
        .transpose()
}

/// One row for all days: a reset moves amounts from day to day, and no other writer may hold one of these days meanwhile.
const LOCK: &str = "SELECT row_id FROM host WHERE row_id = 1 FOR UPDATE";

/// The lock of spending: no other transaction reserves, settles or resets until this one ends. It is taken after the heads
/// of agents and before the rows of money. SQLite has one writer anyway.
fn lock_all(sql: &mut dyn Sql) -> Result<(), StoreError> {
    match sql.dialect() {
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => sql.query(LOCK, &[]).map(drop),
    }
}

/// Keeps everybody else from reserving until this transaction ends: two that look at once would both find room. Gives the
/// day to reserve on, which is never before one that was reserved on already.
pub(crate) fn lock(sql: &mut dyn Sql, clock: Day) -> Result<Day, StoreError> {
    lock_all(sql)?;
    Ok(clock.not_before(latest_day(sql)?))
}

const LATEST: &str = "SELECT day FROM spend_day WHERE agent_id = '' ORDER BY day DESC LIMIT 1";

/// The latest day that anything was reserved on.
pub(crate) fn latest_day(sql: &mut dyn Sql) -> Result<Option<Day>, StoreError> {
    let row = at_most_one(sql.query(LATEST, &[])?);
    row.map(|mut row| row.int("spend_day.day").map(Day)).transpose()
}

const LATER_SPEND: &str = "SELECT operation_id FROM spend WHERE day > ?1";

const LATER_SUMS: &str = "SELECT agent_id, day FROM spend_day WHERE day > ?1";

const MOVE_SPEND: &str = "UPDATE spend SET day = ?1 WHERE day > ?1";

const MOVE_SUMS: &str = "
    INSERT INTO spend_day (agent_id, day, reserved_microusd, settled_microusd, requests)
    SELECT agent_id, ?1, CAST(SUM(reserved_microusd) AS BIGINT), CAST(SUM(settled_microusd) AS BIGINT),
        CAST(SUM(requests) AS BIGINT)
    FROM spend_day WHERE day > ?1 GROUP BY agent_id
    ON CONFLICT (agent_id, day) DO UPDATE SET
        reserved_microusd = spend_day.reserved_microusd + excluded.reserved_microusd,
        settled_microusd = spend_day.settled_microusd + excluded.settled_microusd,
        requests = spend_day.requests + excluded.requests";

const FORGET_LATER: &str = "DELETE FROM spend_day WHERE day > ?1";

/// Counts what was spent on later days for this one: the clock was wrong, the money was spent.
pub(crate) fn reset_day(sql: &mut dyn Sql, clock: Day) -> Result<(), StoreError> {
    lock_all(sql)?;
    let at = Some(clock.begins());
    for mut row in sql.query(LATER_SPEND, &[clock.0.into()])? {
        let operation = OperationId(row.digest("spend.operation_id")?);
        sql.touch(&bound::SPEND, &[(&operation).into()], at);
    }
    for mut row in sql.query(LATER_SUMS, &[clock.0.into()])? {
        let (agent, day) = (row.text("spend_day.agent_id")?, row.int("spend_day.day")?);
        for day in [day, clock.0] {
            sql.touch(&bound::SPEND_DAY, &[agent.as_str().into(), day.into()], at);
        }
    }
    for statement in [MOVE_SPEND, MOVE_SUMS, FORGET_LATER] {
        sql.execute(statement, &[clock.0.into()])?;
    }
    Ok(())
}

const SPENT: &str =
    "SELECT reserved_microusd, settled_microusd FROM spend_day WHERE agent_id = ?1 AND day = ?2";

/// What a day has seen, settled and reserved.
pub(crate) fn spent(sql: &mut dyn Sql, day: Day, agent: &AgentId) -> Result<Spent, StoreError> {
    let mut sum = |scope: Param<'_>| {
        let row = at_most_one(sql.query(SPENT, &[scope, day.0.into()])?);
        let Some(mut row) = row else {
            return Ok(Sum::default());
        };
        Ok::<_, StoreError>(Sum {
            reserved: amount(&mut row, "spend_day.reserved_microusd")?,
            settled: amount(&mut row, "spend_day.settled_microusd")?,
        })
    };
    Ok(Spent {
        agent: sum(agent.into())?,
        all: sum(ALL.into())?,
    })
}

const RESERVE: &str = "
    INSERT INTO spend (operation_id, run_key, agent_id, day, model_ref, rule, policy_version, reserved_microusd,
        settled_microusd)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)
    ON CONFLICT (operation_id) DO UPDATE SET day = excluded.day, model_ref = excluded.model_ref,
        rule = excluded.rule, policy_version = excluded.policy_version,
        reserved_microusd = excluded.reserved_microusd";

/// Puts the largest cost of a request aside. Whoever calls has locked the day and found room.
pub(crate) fn reserve(sql: &mut dyn Sql, reservation: &Reservation) -> Result<(), StoreError> {
    let params = [
        (&reservation.operation_id).into(),
        (&reservation.run_key).into(),
        (&reservation.agent_id).into(),
        reservation.day.0.into(),
        reservation.model_ref.as_str().into(),
        reservation.rule.as_str().into(),
        reservation.policy_version.as_str().into(),
        reservation.amount.0.into(),
    ];
    sql.execute(RESERVE, &params)?;
    // The row says only which day it is.
    let at = reservation.day.begins();
    sql.touch(&bound::SPEND, &[(&reservation.operation_id).into()], Some(at));
    let (day, amount) = (reservation.day.0, signed(reservation.amount)?);
    add(sql, &reservation.agent_id, day, (amount, 0, 1))
}

const OPEN: &str =
    "SELECT agent_id, day, reserved_microusd FROM spend WHERE operation_id = ?1 AND reserved_microusd > 0";

const SETTLE: &str = "
    UPDATE spend SET settled_microusd = settled_microusd + ?2, reserved_microusd = 0 WHERE operation_id = ?1";

/// Turns a reservation into what the request did cost; without a cost, into itself: what nobody knows the end of
/// counts in full. Nothing happens where nothing was reserved.
pub(crate) fn settle(
    sql: &mut dyn Sql,
    operation: &OperationId,
    cost: Option<MicroUsd>,
) -> Result<(), StoreError> {
    if sql.query(OPEN, &[operation.into()])?.is_empty() {
        return Ok(());
    }
    // A reset may have moved it to another day, or another life may have settled it, until the lock is held.
    lock_all(sql)?;
    let Some(mut row) = at_most_one(sql.query(OPEN, &[operation.into()])?) else {
        return Ok(());
    };
    let agent_id = row.agent_id("spend.agent_id")?;
    let day = row.int("spend.day")?;
    let reserved = amount(&mut row, "spend.reserved_microusd")?;
    let cost = cost.unwrap_or(reserved);
    sql.execute(SETTLE, &[operation.into(), cost.0.into()])?;
    sql.touch(&bound::SPEND, &[operation.into()], Some(Day(day).begins()));
    add(sql, &agent_id, day, (-signed(reserved)?, signed(cost)?, 0))
}

const OPEN_OF_RUN: &str =
    "SELECT operation_id FROM spend WHERE run_key = ?1 AND reserved_microusd > 0 LIMIT ?2";

/// Settles in full whatever is put aside for a run.
pub(crate) fn settle_run(sql: &mut dyn Sql, run: &RunKey) -> Result<(), StoreError> {
    let rows = sql.query(OPEN_OF_RUN, &[run.into(), limit(ROWS_MAX)])?;
    let open = records(rows, |mut row| row.digest("spend.operation_id").map(OperationId))?;
    open.iter().try_for_each(|operation| settle(sql, operation, None))
}

const ADD: &str = "
    INSERT INTO spend_day (agent_id, day, reserved_microusd, settled_microusd, requests) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (agent_id, day) DO UPDATE SET
        reserved_microusd = spend_day.reserved_microusd + excluded.reserved_microusd,
        settled_microusd = spend_day.settled_microusd + excluded.settled_microusd,
        requests = spend_day.requests + excluded.requests";

const MOVE: &str = "
    UPDATE spend_day SET reserved_microusd = reserved_microusd + ?3, settled_microusd = settled_microusd + ?4,
        requests = requests + ?5
    WHERE agent_id = ?1 AND day = ?2";

/// Moves the sums of an agent and of all together.
fn add(
    sql: &mut dyn Sql,
    agent: &AgentId,
    day: i64,
    (reserved, settled, requests): (i64, i64, i64),
) -> Result<(), StoreError> {
    for scope in [ALL.into(), Param::from(agent)] {
        let params = [
            scope,
            day.into(),
            reserved.into(),
            settled.into(),
            requests.into(),
        ];
        // A new row may not be negative, not even on its way into an old one.
        let statement = if reserved < 0 { MOVE } else { ADD };
        sql.execute(statement, &params)?;
        sql.touch(&bound::SPEND_DAY, &[scope, day.into()], None);
    }
    Ok(())
}

const OF_RUN: &str =
    "SELECT CAST(COALESCE(SUM(settled_microusd), 0) AS BIGINT) FROM spend WHERE run_key = ?1";

/// What a run cost so far, requests whose end nobody knows included.
pub(crate) fn of_run(sql: &mut dyn Sql, run: &RunKey) -> Result<MicroUsd, StoreError> {
    let rows = sql.query(OF_RUN, &[run.into()])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("spend"))?;
    amount(&mut row, "spend.settled_microusd")
}

const DAYS: &str = "
    SELECT agent_id, day, reserved_microusd, settled_microusd, requests FROM spend_day
    WHERE agent_id = ?1 AND day >= ?2 ORDER BY day LIMIT ?3";

/// The days of one agent, or of all together, from one day on, oldest first.
pub(crate) fn days(
    sql: &mut dyn Sql,
    agent: Option<&AgentId>,
    from: Day,
) -> Result<Vec<SpendDay>, StoreError> {
    records(
        sql.query(DAYS, &[scope(agent), from.0.into(), limit(ROWS_MAX)])?,
        read_day,
    )
}

const ON_DAY: &str = "
    SELECT agent_id, day, reserved_microusd, settled_microusd, requests FROM spend_day
    WHERE day = ?1 AND agent_id <> '' ORDER BY agent_id LIMIT ?2";

/// What each agent spent on a day.
pub(crate) fn on_day(sql: &mut dyn Sql, day: Day) -> Result<Vec<SpendDay>, StoreError> {
    records(sql.query(ON_DAY, &[day.0.into(), limit(ROWS_MAX)])?, read_day)
}

fn read_day(mut row: Row) -> Result<SpendDay, StoreError> {
    Ok(SpendDay {
        agent_id: agent(&mut row, "spend_day.agent_id")?,
        day: Day(row.int("spend_day.day")?),
        reserved: amount(&mut row, "spend_day.reserved_microusd")?,
        settled: amount(&mut row, "spend_day.settled_microusd")?,
        requests: row.count("spend_day.requests")?,
    })
}

const PUT_RECEIPT: &str = "
    INSERT INTO privacy_receipt (provider, policy_version, channel, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (provider, policy_version) DO NOTHING";

/// Keeps that a person confirmed a provider; the first confirmation stands.
pub(crate) fn put_receipt(sql: &mut dyn Sql, receipt: &ReceiptRow) -> Result<(), StoreError> {
    let params = [
        receipt.provider.as_str().into(),
        receipt.policy_version.as_str().into(),
        receipt.channel.as_str().into(),
        receipt.at.into(),
    ];
    let key = [
        receipt.provider.as_str().into(),
        receipt.policy_version.as_str().into(),
    ];
    if sql.execute(PUT_RECEIPT, &params)? > 0 {
        sql.touch(&bound::RECEIPT, &key, Some(receipt.at));
    }
    Ok(())
}

const RECEIPTS: &str = "
    SELECT provider, policy_version, channel, at_ms FROM privacy_receipt ORDER BY at_ms, provider LIMIT ?1";

/// Every confirmation, oldest first.
pub(crate) fn receipts(sql: &mut dyn Sql) -> Result<Vec<ReceiptRow>, StoreError> {
    records(sql.query(RECEIPTS, &[limit(ROWS_MAX)])?, |mut row| {
        Ok(ReceiptRow {
            provider: row.text("privacy_receipt.provider")?,
            policy_version: PolicyVersion::new(row.text("privacy_receipt.policy_version")?),
            channel: row.text("privacy_receipt.channel")?,
            at: row.millis("privacy_receipt.at_ms")?,
        })
    })
}

const CONFIRMED: &str = "SELECT at_ms FROM privacy_receipt WHERE provider = ?1 AND policy_version = ?2";

/// Whether a person confirmed a provider under these rules.
pub(crate) fn is_confirmed(
    sql: &mut dyn Sql,
    provider: &str,
    version: &PolicyVersion,
) -> Result<bool, StoreError> {
    let rows = sql.query(CONFIRMED, &[provider.into(), version.as_str().into()])?;
    Ok(!rows.is_empty())
}

fn scope(agent: Option<&AgentId>) -> Param<'_> {
    agent.map_or_else(|| ALL.into(), Into::into)
}

fn agent(row: &mut Row, place: &'static str) -> Result<Option<AgentId>, StoreError> {
    let text = row.text(place)?;
    if text == ALL {
        return Ok(None);
    }
    AgentId::parse(&text)
        .map(Some)
        .map_err(|_| StoreError::Malformed(place))
}

fn amount(row: &mut Row, place: &'static str) -> Result<MicroUsd, StoreError> {
    row.count(place).map(MicroUsd)
}

/// An amount that can be taken away as well. Nobody reserves nine trillion dollars.
fn signed(amount: MicroUsd) -> Result<i64, StoreError> {
    i64::try_from(amount.0).map_err(|_| StoreError::Malformed("spend.reserved_microusd"))
}
