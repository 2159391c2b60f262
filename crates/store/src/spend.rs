//! Model costs: caps, reservations, and daily sums.

use wakeful_core::budget::{DaySpend, MicroUsd, SpendTotal, UtcDay};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::ReceiptChannel;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

use crate::rows::{CapRow, PrivacyReceiptRow, Reservation, SpendDay};
use crate::sql::{Dialect, Param, Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, row_binding};

/// Key of the rows for all agents together.
const ALL: &str = "";

const SET_CAP: &str = "
    INSERT INTO cap (agent_id, daily_microusd, set_at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (agent_id) DO UPDATE SET daily_microusd = excluded.daily_microusd, set_at_ms = excluded.set_at_ms";

const UNSET_CAP: &str = "DELETE FROM cap WHERE agent_id = ?1";

impl Tx<'_> {
    /// Sets or removes the cap of one agent, or of all together.
    pub fn set_cap(&mut self, agent: Option<&AgentId>, daily: Option<MicroUsd>, at: Millis) -> Result<()> {
        let scope = scope(agent);
        let written = match daily {
            Some(daily) => self.sql.execute(SET_CAP, &[scope, daily.0.into(), at.into()])?,
            None => self.sql.execute(UNSET_CAP, &[scope])?,
        };
        if written > 0 {
            self.sql.touch(&row_binding::CAP, &[scope], Some(at));
        }
        Ok(())
    }
}

const CAPS: &str = "SELECT agent_id, daily_microusd, set_at_ms FROM cap ORDER BY agent_id LIMIT ?1";

impl View<'_> {
    /// Returns the caps that people set; the one for all agents together comes first.
    pub fn caps(&mut self) -> Result<Vec<CapRow>> {
        records(self.sql.query(CAPS, &[limit(ROWS_MAX)])?, |mut row| {
            Ok(CapRow {
                agent_id: agent(&mut row, "cap.agent_id")?,
                daily: amount(&mut row, "cap.daily_microusd")?,
                set_at: row.millis("cap.set_at_ms")?,
            })
        })
    }
}

const CAP: &str = "SELECT daily_microusd FROM cap WHERE agent_id = ?1";

impl View<'_> {
    /// Returns the cap of one agent, or of all together, if a person set one.
    pub fn cap(&mut self, agent: Option<&AgentId>) -> Result<Option<MicroUsd>> {
        let rows = self.sql.query(CAP, &[scope(agent)])?;
        at_most_one(rows)
            .map(|mut row| amount(&mut row, "cap.daily_microusd"))
            .transpose()
    }
}

/// One row for all days: a reset moves amounts between days, and no other writer may hold one of these days
/// at the same time.
const LOCK: &str = "SELECT row_id FROM host WHERE row_id = 1 FOR UPDATE";

/// Takes the spending lock: no other transaction reserves, settles or resets until this one ends. It is
/// taken after the heads of agents and before the spending rows. SQLite has only one writer.
fn lock_all(sql: &mut dyn Sql) -> Result<()> {
    match sql.dialect() {
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => sql.query(LOCK, &[]).map(drop),
    }
}

impl Tx<'_> {
    /// Prevents other transactions from reserving until this one ends: two concurrent checks would both
    /// find enough budget. Returns the day to reserve on: the clock's day, or a later one that already has
    /// a reservation.
    pub fn lock_spending(&mut self, clock: UtcDay) -> Result<UtcDay> {
        lock_all(&mut self.sql)?;
        Ok(clock.not_before(self.latest_spend_day()?))
    }
}

const LATEST: &str = "SELECT day FROM spend_day WHERE agent_id = '' ORDER BY day DESC LIMIT 1";

impl View<'_> {
    /// Returns the latest day with a reservation.
    pub fn latest_spend_day(&mut self) -> Result<Option<UtcDay>> {
        let row = at_most_one(self.sql.query(LATEST, &[])?);
        row.map(|mut row| row.int("spend_day.day").map(UtcDay))
            .transpose()
    }
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

impl Tx<'_> {
    /// Adds the spending of later days to this one and deletes those days.
    pub fn reset_spend_day(&mut self, clock: UtcDay) -> Result<()> {
        lock_all(&mut self.sql)?;
        let at = Some(clock.begins());
        for mut row in self.sql.query(LATER_SPEND, &[clock.0.into()])? {
            let operation = OperationId(row.digest("spend.operation_id")?);
            self.sql.touch(&row_binding::SPEND, &[(&operation).into()], at);
        }
        for mut row in self.sql.query(LATER_SUMS, &[clock.0.into()])? {
            let (agent, day) = (row.text("spend_day.agent_id")?, row.int("spend_day.day")?);
            for day in [day, clock.0] {
                self.sql
                    .touch(&row_binding::SPEND_DAY, &[agent.as_str().into(), day.into()], at);
            }
        }
        for statement in [MOVE_SPEND, MOVE_SUMS, FORGET_LATER] {
            self.sql.execute(statement, &[clock.0.into()])?;
        }
        Ok(())
    }
}

const SPENT: &str =
    "SELECT reserved_microusd, settled_microusd FROM spend_day WHERE agent_id = ?1 AND day = ?2";

impl View<'_> {
    /// Returns the settled and reserved amounts of a day, for an agent and for all.
    pub fn spent(&mut self, day: UtcDay, agent: &AgentId) -> Result<DaySpend> {
        Ok(DaySpend {
            agent: self.sum(agent.into(), day)?,
            all: self.spent_by_all(day)?,
        })
    }

    /// Returns the settled and reserved amounts of a day, for all agents together.
    pub(crate) fn spent_by_all(&mut self, day: UtcDay) -> Result<SpendTotal> {
        self.sum(ALL.into(), day)
    }

    fn sum(&mut self, scope: Param<'_>, day: UtcDay) -> Result<SpendTotal> {
        let row = at_most_one(self.sql.query(SPENT, &[scope, day.0.into()])?);
        let Some(mut row) = row else {
            return Ok(SpendTotal::default());
        };
        Ok(SpendTotal {
            reserved: amount(&mut row, "spend_day.reserved_microusd")?,
            settled: amount(&mut row, "spend_day.settled_microusd")?,
        })
    }
}

const RESERVE: &str = "
    INSERT INTO spend (operation_id, run_key, agent_id, day, model_ref, rule, policy_version, reserved_microusd,
        settled_microusd)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)
    ON CONFLICT (operation_id) DO UPDATE SET day = excluded.day, model_ref = excluded.model_ref,
        rule = excluded.rule, policy_version = excluded.policy_version,
        reserved_microusd = excluded.reserved_microusd";

impl Tx<'_> {
    /// Stores a reservation. The caller holds the spending lock and has checked the budget.
    pub fn reserve(&mut self, reservation: &Reservation) -> Result<()> {
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
        self.sql.execute(RESERVE, &params)?;
        // The row contains only the day.
        let at = reservation.day.begins();
        self.sql.touch(
            &row_binding::SPEND,
            &[(&reservation.operation_id).into()],
            Some(at),
        );
        let (day, amount) = (reservation.day.0, signed(reservation.amount)?);
        let change = SpendChange {
            reserved: amount,
            settled: 0,
            requests: 1,
        };
        add(&mut self.sql, &reservation.agent_id, day, &change)
    }
}

const OPEN: &str =
    "SELECT agent_id, day, reserved_microusd FROM spend WHERE operation_id = ?1 AND reserved_microusd > 0";

const SETTLE: &str = "
    UPDATE spend SET settled_microusd = settled_microusd + ?2, reserved_microusd = 0 WHERE operation_id = ?1";

impl Tx<'_> {
    /// Settles a reservation with its cost, or in full if the cost is unknown. Does nothing if there is
    /// none.
    pub fn settle_spend(&mut self, operation: &OperationId, cost: Option<MicroUsd>) -> Result<()> {
        if self.sql.query(OPEN, &[operation.into()])?.is_empty() {
            return Ok(());
        }
        // Before the lock is held, a reset may have moved the reservation to another day, or another runner
        // may have settled it.
        lock_all(&mut self.sql)?;
        let Some(mut row) = at_most_one(self.sql.query(OPEN, &[operation.into()])?) else {
            return Ok(());
        };
        let agent_id = row.agent_id("spend.agent_id")?;
        let day = row.int("spend.day")?;
        let reserved = amount(&mut row, "spend.reserved_microusd")?;
        let cost = cost.unwrap_or(reserved);
        self.sql.execute(SETTLE, &[operation.into(), cost.0.into()])?;
        self.sql.touch(
            &row_binding::SPEND,
            &[operation.into()],
            Some(UtcDay(day).begins()),
        );
        let change = SpendChange {
            reserved: -signed(reserved)?,
            settled: signed(cost)?,
            requests: 0,
        };
        add(&mut self.sql, &agent_id, day, &change)
    }
}

const OPEN_OF_RUN: &str =
    "SELECT operation_id FROM spend WHERE run_key = ?1 AND reserved_microusd > 0 LIMIT ?2";

impl Tx<'_> {
    /// Settles in full every reservation of a run that will not continue.
    pub fn settle_run(&mut self, run: &RunKey) -> Result<()> {
        let rows = self.sql.query(OPEN_OF_RUN, &[run.into(), limit(ROWS_MAX)])?;
        let open = records(rows, |mut row| row.digest("spend.operation_id").map(OperationId))?;
        open.iter()
            .try_for_each(|operation| self.settle_spend(operation, None))
    }
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

/// Amounts to add to the sums of a day.
struct SpendChange {
    reserved: i64,
    settled: i64,
    requests: i64,
}

/// Changes the sums of an agent and of all agents together.
fn add(sql: &mut dyn Sql, agent: &AgentId, day: i64, change: &SpendChange) -> Result<()> {
    for scope in [ALL.into(), Param::from(agent)] {
        let params = [
            scope,
            day.into(),
            change.reserved.into(),
            change.settled.into(),
            change.requests.into(),
        ];
        // A new row must not be negative, not even before it is merged into an existing one.
        let statement = if change.reserved < 0 { MOVE } else { ADD };
        sql.execute(statement, &params)?;
        sql.touch(&row_binding::SPEND_DAY, &[scope, day.into()], None);
    }
    Ok(())
}

const OF_RUN: &str =
    "SELECT CAST(COALESCE(SUM(settled_microusd), 0) AS BIGINT) FROM spend WHERE run_key = ?1";

impl View<'_> {
    /// Returns the cost of a run so far, including requests with an unknown outcome.
    pub fn spent_by_run(&mut self, run: &RunKey) -> Result<MicroUsd> {
        let rows = self.sql.query(OF_RUN, &[run.into()])?;
        let mut row = at_most_one(rows).ok_or(StoreError::Malformed("spend"))?;
        amount(&mut row, "spend.settled_microusd")
    }
}

const DAYS: &str = "
    SELECT agent_id, day, reserved_microusd, settled_microusd, requests FROM spend_day
    WHERE agent_id = ?1 AND day >= ?2 ORDER BY day LIMIT ?3";

impl View<'_> {
    /// Returns the days of one agent, or of all together, from a day on, oldest first. At most
    /// [`ROWS_MAX`].
    pub fn spend_days(&mut self, agent: Option<&AgentId>, from: UtcDay) -> Result<Vec<SpendDay>> {
        records(
            self.sql
                .query(DAYS, &[scope(agent), from.0.into(), limit(ROWS_MAX)])?,
            read_day,
        )
    }
}

const ON_DAY: &str = "
    SELECT agent_id, day, reserved_microusd, settled_microusd, requests FROM spend_day
    WHERE day = ?1 AND agent_id <> '' ORDER BY agent_id LIMIT ?2";

impl View<'_> {
    /// Returns what each agent spent on a day, by name. At most [`ROWS_MAX`].
    pub fn spent_on(&mut self, day: UtcDay) -> Result<Vec<SpendDay>> {
        records(
            self.sql.query(ON_DAY, &[day.0.into(), limit(ROWS_MAX)])?,
            read_day,
        )
    }
}

fn read_day(mut row: Row) -> Result<SpendDay> {
    Ok(SpendDay {
        agent_id: agent(&mut row, "spend_day.agent_id")?,
        day: UtcDay(row.int("spend_day.day")?),
        reserved: amount(&mut row, "spend_day.reserved_microusd")?,
        settled: amount(&mut row, "spend_day.settled_microusd")?,
        requests: row.count("spend_day.requests")?,
    })
}

const PUT_RECEIPT: &str = "
    INSERT INTO privacy_receipt (provider, policy_version, channel, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (provider, policy_version) DO NOTHING";

impl Tx<'_> {
    /// Stores a privacy receipt; the first one for a provider and policy version is kept.
    pub fn put_receipt(&mut self, receipt: &PrivacyReceiptRow) -> Result<()> {
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
        if self.sql.execute(PUT_RECEIPT, &params)? > 0 {
            self.sql.touch(&row_binding::RECEIPT, &key, Some(receipt.at));
        }
        Ok(())
    }
}

const RECEIPTS: &str = "
    SELECT provider, policy_version, channel, at_ms FROM privacy_receipt ORDER BY at_ms, provider LIMIT ?1";

impl View<'_> {
    /// Returns all privacy receipts, oldest first. At most [`ROWS_MAX`].
    pub fn receipts(&mut self) -> Result<Vec<PrivacyReceiptRow>> {
        records(self.sql.query(RECEIPTS, &[limit(ROWS_MAX)])?, |mut row| {
            Ok(PrivacyReceiptRow {
                provider: row.text("privacy_receipt.provider")?,
                policy_version: PolicyVersion::new(row.text("privacy_receipt.policy_version")?),
                channel: row.word("privacy_receipt.channel", ReceiptChannel::parse)?,
                at: row.millis("privacy_receipt.at_ms")?,
            })
        })
    }
}

const CONFIRMED: &str = "SELECT at_ms FROM privacy_receipt WHERE provider = ?1 AND policy_version = ?2";

impl View<'_> {
    /// Whether a person confirmed a provider under this policy version.
    pub fn is_confirmed(&mut self, provider: &str, version: &PolicyVersion) -> Result<bool> {
        let rows = self
            .sql
            .query(CONFIRMED, &[provider.into(), version.as_str().into()])?;
        Ok(!rows.is_empty())
    }
}

fn scope(agent: Option<&AgentId>) -> Param<'_> {
    agent.map_or_else(|| ALL.into(), Into::into)
}

fn agent(row: &mut Row, place: &'static str) -> Result<Option<AgentId>> {
    let text = row.text(place)?;
    if text == ALL {
        return Ok(None);
    }
    AgentId::parse(&text)
        .map(Some)
        .map_err(|_| StoreError::Malformed(place))
}

fn amount(row: &mut Row, place: &'static str) -> Result<MicroUsd> {
    row.count(place).map(MicroUsd)
}

/// Converts an amount so that it can be subtracted. The range ends at nine trillion dollars.
fn signed(amount: MicroUsd) -> Result<i64> {
    i64::try_from(amount.0).map_err(|_| StoreError::Malformed("spend.reserved_microusd"))
}
