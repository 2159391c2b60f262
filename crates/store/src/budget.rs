//! Limits with their use, and what effects in progress hold.
//!
//! The limits of a run are locked together, in one order for all runs: all agents, tree, agent, session, run. The
//! lock comes after the heads of agents and before the spending lock.

use wakeful_core::budget::{
    BudgetGrant, BudgetPeriod, BudgetPool, BudgetResource, BudgetScope, LimitId, LimitKey,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

use crate::rows::{BudgetOwner, Hold, HoldEnd, HoldRow, LimitRow};
use crate::run::range;
use crate::sql::{Dialect, Row, Sql as _, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, row_binding};

macro_rules! limits {
    ($rest:literal) => {
        concat!(
            "SELECT limit_id, scope, subject, resource, period, max, period_index, reserved, settled, counted_at_ms, set_at_ms
             FROM budget_limit ",
            $rest
        )
    };
}

macro_rules! ordered {
    ($condition:literal, $lock:literal) => {
        concat!(
            "SELECT limit_id, scope, subject, resource, period, max, period_index, reserved, settled, counted_at_ms, set_at_ms
             FROM budget_limit WHERE ",
            $condition,
            " ORDER BY CASE scope WHEN 'all' THEN 0 WHEN 'tree' THEN 1 WHEN 'agent' THEN 2 WHEN 'session' THEN 3 ELSE 4 END,
                subject, resource, period",
            $lock
        )
    };
}

const OF_OWNER: &str = ordered!(
    "scope = 'all' OR (scope = 'tree' AND subject = ?1) OR (scope = 'agent' AND subject = ?2)
        OR (scope = 'session' AND subject = ?3) OR (scope = 'run' AND subject = ?4)",
    ""
);

const OF_OWNER_LOCKED: &str = ordered!(
    "scope = 'all' OR (scope = 'tree' AND subject = ?1) OR (scope = 'agent' AND subject = ?2)
        OR (scope = 'session' AND subject = ?3) OR (scope = 'run' AND subject = ?4)",
    " FOR UPDATE"
);

impl View<'_> {
    /// Returns the limits that apply to a run, in the order in which they are locked.
    pub fn limits_of(&mut self, owner: &BudgetOwner) -> Result<Vec<LimitRow>> {
        self.limits_of_with(OF_OWNER, owner)
    }

    fn limits_of_with(&mut self, query: &'static str, owner: &BudgetOwner) -> Result<Vec<LimitRow>> {
        let (root, run) = (owner.root_run.to_string(), owner.run_key.to_string());
        let params = [
            root.as_str().into(),
            (&owner.agent_id).into(),
            (&owner.thread_id).into(),
            run.as_str().into(),
        ];
        records(self.sql.query(query, &params)?, read_limit)
    }
}

const ANY: &str = "SELECT limit_id FROM budget_limit LIMIT 1";

impl View<'_> {
    /// Whether a person set any limit.
    pub fn has_limits(&mut self) -> Result<bool> {
        Ok(!self.sql.query(ANY, &[])?.is_empty())
    }
}

const LIMITS: &str = limits!("ORDER BY scope, subject, resource, period LIMIT ?1");

impl View<'_> {
    /// Returns all limits. At most [`ROWS_MAX`].
    pub fn limits(&mut self) -> Result<Vec<LimitRow>> {
        records(self.sql.query(LIMITS, &[limit(ROWS_MAX)])?, read_limit)
    }
}

const OF_AGENT: &str = limits!("WHERE scope = 'all' OR (scope = 'agent' AND subject = ?1) ORDER BY limit_id");

impl View<'_> {
    /// Returns the limits of an agent and of all agents.
    pub fn limits_of_agent(&mut self, agent: &AgentId) -> Result<Vec<LimitRow>> {
        records(self.sql.query(OF_AGENT, &[agent.into()])?, read_limit)
    }
}

const ONE: &str = limits!("WHERE limit_id = ?1");

const BETWEEN: &str = limits!("WHERE limit_id >= ?1 AND limit_id <= ?2 ORDER BY limit_id LIMIT ?3");

impl View<'_> {
    /// Returns one limit.
    pub fn limit(&mut self, id: LimitId) -> Result<Option<LimitRow>> {
        let row = at_most_one(self.sql.query(ONE, &[(&id.0).into()])?);
        row.map(read_limit).transpose()
    }

    /// Returns the limits whose ids start with these digits, at most two.
    pub fn limits_with_prefix(&mut self, prefix: &str) -> Result<Vec<LimitRow>> {
        let Some((first, last)) = range(prefix) else {
            return Ok(Vec::new());
        };
        let params = [(&first).into(), (&last).into(), limit(2)];
        records(self.sql.query(BETWEEN, &params)?, read_limit)
    }
}

const SET: &str = "
    INSERT INTO budget_limit (limit_id, scope, subject, resource, period, max, period_index, reserved, settled,
        counted_at_ms, set_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?9)
    ON CONFLICT (limit_id) DO UPDATE SET max = excluded.max, set_at_ms = excluded.set_at_ms";

impl Tx<'_> {
    /// Sets a limit, or changes one whose use is kept. A new limit counts from now on; `settled` is what is known to
    /// be used before.
    pub fn set_limit(&mut self, key: &LimitKey, max: u64, settled: u64, at: Millis) -> Result<()> {
        let id = key.id();
        let params = [
            (&id.0).into(),
            key.scope.as_str().into(),
            key.subject.as_str().into(),
            key.resource.as_str().into(),
            key.period.as_str().into(),
            max.into(),
            key.period.index(at).into(),
            settled.into(),
            at.into(),
        ];
        self.sql.execute(SET, &params)?;
        self.touch_limit(id, Some(at));
        Ok(())
    }

    fn touch_limit(&mut self, id: LimitId, at: Option<Millis>) {
        self.sql.touch(&row_binding::BUDGET_LIMIT, &[(&id.0).into()], at);
    }
}

const CLEAR: &str = "DELETE FROM budget_limit WHERE limit_id = ?1";

const CLEAR_HOLDS: &str = "DELETE FROM budget_hold WHERE limit_id = ?1";

impl Tx<'_> {
    /// Removes a limit with its use. Returns whether there was one.
    pub fn clear_limit(&mut self, id: LimitId, at: Millis) -> Result<bool> {
        if self.sql.execute(CLEAR, &[(&id.0).into()])? == 0 {
            return Ok(false);
        }
        self.sql.run(CLEAR_HOLDS, &[(&id.0).into()])?;
        self.touch_limit(id, Some(at));
        Ok(true)
    }
}

const STORE_USE: &str =
    "UPDATE budget_limit SET period_index = ?2, reserved = ?3, settled = ?4 WHERE limit_id = ?1";

const HOLD: &str =
    "INSERT INTO budget_hold (operation_id, limit_id, run_key, amount) VALUES (?1, ?2, ?3, ?4)";

impl Tx<'_> {
    /// Locks the limits that apply to a run until this transaction ends, and returns them in the period of the clock.
    /// The caller holds the agent's head.
    pub fn lock_limits(&mut self, owner: &BudgetOwner, now: Millis) -> Result<Vec<BudgetPool>> {
        let query = match self.sql.dialect() {
            Dialect::Sqlite => OF_OWNER,
            Dialect::Postgres => OF_OWNER_LOCKED,
        };
        let rows = self.limits_of_with(query, owner)?;
        Ok(rows.into_iter().map(|row| row.pool.at(now)).collect())
    }

    /// Stores what effects of a run reserve. `pools` are its locked limits, and already contain the reservations.
    pub fn hold(&mut self, run: &RunKey, pools: &[BudgetPool], holds: &[Hold]) -> Result<()> {
        let mut changed = Vec::new();
        for hold in holds {
            for BudgetGrant { resource, amount, .. } in &hold.grants {
                for pool in pools.iter().filter(|pool| pool.resource == *resource) {
                    let id = pool.limit;
                    let params = [
                        (&hold.operation_id).into(),
                        (&id.0).into(),
                        run.into(),
                        (*amount).into(),
                    ];
                    self.sql.run_once(HOLD, &params)?;
                    if !changed.contains(&id) {
                        changed.push(id);
                    }
                }
            }
        }
        let changed = pools.iter().filter(|pool| changed.contains(&pool.limit));
        changed.cloned().try_for_each(|pool| self.store_use(&pool))
    }

    fn store_use(&mut self, pool: &BudgetPool) -> Result<()> {
        let params = [
            (&pool.limit.0).into(),
            pool.index.into(),
            pool.reserved.into(),
            pool.settled.into(),
        ];
        self.sql.run(STORE_USE, &params)?;
        self.touch_limit(pool.limit, None);
        Ok(())
    }
}

const HOLDS_OF_RUN: &str = "
    SELECT operation_id, limit_id, (SELECT resource FROM budget_limit WHERE budget_limit.limit_id = budget_hold.limit_id), amount
    FROM budget_hold WHERE run_key = ?1 ORDER BY operation_id, limit_id LIMIT ?2";

impl View<'_> {
    /// Returns what the effects of a run hold.
    pub fn holds_of(&mut self, run: &RunKey) -> Result<Vec<HoldRow>> {
        let rows = self.sql.query(HOLDS_OF_RUN, &[run.into(), limit(ROWS_MAX)])?;
        records(rows, |mut row| {
            Ok(HoldRow {
                operation_id: OperationId(row.digest("budget_hold.operation_id")?),
                limit: LimitId(row.digest("budget_hold.limit_id")?),
                resource: row.word("budget_limit.resource", BudgetResource::parse)?,
                amount: row.count("budget_hold.amount")?,
            })
        })
    }
}

const SUM_OF_HOLDS: &str =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM budget_hold WHERE limit_id = ?1";

impl View<'_> {
    /// Returns the sum of what effects hold under a limit, which its row has as `reserved`.
    pub fn held_under(&mut self, id: LimitId) -> Result<u64> {
        let rows = self.sql.query(SUM_OF_HOLDS, &[(&id.0).into()])?;
        let mut row = at_most_one(rows).ok_or(StoreError::Malformed("budget_hold"))?;
        row.count("budget_hold.amount")
    }
}

const HAS_HOLDS: &str = "SELECT limit_id FROM budget_hold WHERE run_key = ?1 LIMIT 1";

const HELD: &str = ordered!(
    "limit_id IN (SELECT limit_id FROM budget_hold WHERE run_key = ?1)",
    ""
);

const HELD_LOCKED: &str = ordered!(
    "limit_id IN (SELECT limit_id FROM budget_hold WHERE run_key = ?1)",
    " FOR UPDATE"
);

const RELEASE: &str = "DELETE FROM budget_hold WHERE operation_id = ?1 AND limit_id = ?2";

impl Tx<'_> {
    /// Ends reservations of a run's effects; those without any are skipped. The caller holds the agent's head.
    pub fn settle_holds(&mut self, run: &RunKey, ends: &[(OperationId, HoldEnd)], now: Millis) -> Result<()> {
        let found = self.holds_of(run)?;
        let end_of = |row: &HoldRow| {
            let found = ends.iter().find(|(operation, _)| *operation == row.operation_id);
            found.map(|(_, end)| (*row, *end))
        };
        let ending: Vec<(HoldRow, HoldEnd)> = found.iter().filter_map(end_of).collect();
        self.settle(run, &ending, now)
    }

    /// Ends every reservation of a run in full: the outcomes of its effects are unknown, or it has ended.
    pub fn settle_holds_of_run(&mut self, run: &RunKey, now: Millis) -> Result<()> {
        if self.sql.query(HAS_HOLDS, &[run.into()])?.is_empty() {
            return Ok(());
        }
        let ending: Vec<(HoldRow, HoldEnd)> = self
            .holds_of(run)?
            .into_iter()
            .map(|row| (row, HoldEnd::InFull))
            .collect();
        self.settle(run, &ending, now)
    }

    fn settle(&mut self, run: &RunKey, ending: &[(HoldRow, HoldEnd)], now: Millis) -> Result<()> {
        if ending.is_empty() {
            return Ok(());
        }
        let query = match self.sql.dialect() {
            Dialect::Sqlite => HELD,
            Dialect::Postgres => HELD_LOCKED,
        };
        // A limit that a person removed meanwhile is not found, and neither are its reservations.
        let pools = records(self.sql.query(query, &[run.into()])?, read_limit)?;
        for mut pool in pools.into_iter().map(|row| row.pool.at(now)) {
            let mut has_changed = false;
            let limit = pool.limit;
            for (row, end) in ending.iter().filter(|(row, _)| row.limit == limit) {
                let released = self
                    .sql
                    .execute(RELEASE, &[(&row.operation_id).into(), (&row.limit.0).into()])?;
                if released > 0 {
                    pool.settle(row.amount, end.used(pool.resource, row.amount));
                    has_changed = true;
                }
            }
            if has_changed {
                self.store_use(&pool)?;
            }
        }
        Ok(())
    }
}

const AHEAD: &str = limits!("WHERE period <> 'lifetime' ORDER BY limit_id LIMIT ?1");

impl Tx<'_> {
    /// Makes the period of the clock the current one of every limit, after a wrong clock moved them ahead. Their use
    /// counts for it.
    pub fn reset_limit_periods(&mut self, now: Millis) -> Result<()> {
        let rows = records(self.sql.query(AHEAD, &[limit(ROWS_MAX)])?, read_limit)?;
        for LimitRow { mut pool, .. } in rows {
            let index = pool.period.index(now);
            if pool.index > index {
                pool.index = index;
                self.store_use(&pool)?;
            }
        }
        Ok(())
    }
}

fn read_limit(mut row: Row) -> Result<LimitRow> {
    let limit = LimitId(row.digest("budget_limit.limit_id")?);
    let scope = row.word("budget_limit.scope", BudgetScope::parse)?;
    let subject = row.text("budget_limit.subject")?;
    let pool = BudgetPool {
        limit,
        scope,
        resource: row.word("budget_limit.resource", BudgetResource::parse)?,
        period: row.word("budget_limit.period", BudgetPeriod::parse)?,
        max: row.count("budget_limit.max")?,
        index: row.int("budget_limit.period_index")?,
        reserved: row.count("budget_limit.reserved")?,
        settled: row.count("budget_limit.settled")?,
    };
    Ok(LimitRow {
        subject,
        pool,
        counted_at: row.millis("budget_limit.counted_at_ms")?,
        set_at: row.millis("budget_limit.set_at_ms")?,
    })
}
