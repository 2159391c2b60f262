//! What the lists of runs show and what needs a person: counts per run and per status, and runs that need
//! attention.

use std::collections::BTreeMap;

use wakeful_core::key::{Digest, RunKey};
use wakeful_core::message::MessageKind;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;

use crate::rows::{RunCounts, RunRow, StatusCounts, StatusCountsFilter};
use crate::run::read;
use crate::sql::{Param, Sql, at_most_one, limit, records};
use crate::{Result, StoreError, Tx, View};

/// Keys per statement: enough that a page of runs takes a few statements, and few enough to write down.
const KEYS_PER_QUERY: usize = 32;

/// Maximum number of runs that are counted per status. Beyond it the counts are lower bounds.
pub const RUNS_COUNTED_MAX: u32 = 10_000;

const STEPS: &str = "
    SELECT run_key,
        COUNT(*) FILTER (WHERE class IS NULL AND status = 'ok'),
        COUNT(*) FILTER (WHERE class IS NOT NULL),
        COUNT(*) FILTER (WHERE class IS NOT NULL AND status = 'denied'),
        COUNT(*) FILTER (WHERE class IS NOT NULL AND (status = 'failed' OR exit_status <> 0)),
        COUNT(*) FILTER (WHERE class IS NOT NULL AND status = 'outcome_unknown')
    FROM step WHERE run_key IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
        ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)
    GROUP BY run_key";

const COSTS: &str = "
    SELECT run_key, CAST(SUM(settled_microusd) AS BIGINT)
    FROM spend WHERE run_key IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
        ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)
    GROUP BY run_key";

impl View<'_> {
    /// Counts the steps of runs and adds up their costs. A run without steps is absent.
    pub fn run_counts(&mut self, runs: &[RunKey]) -> Result<BTreeMap<RunKey, RunCounts>> {
        let mut found: BTreeMap<RunKey, RunCounts> = BTreeMap::new();
        for keys in runs.chunks(KEYS_PER_QUERY) {
            // No run has the zero key, so it fills the statement without finding anything.
            let mut params = [Param::from(&Digest::ZERO); KEYS_PER_QUERY];
            params
                .iter_mut()
                .zip(keys)
                .for_each(|(param, key)| *param = key.into());
            for mut row in self.sql.query(STEPS, &params)? {
                let run = RunKey(row.digest("step.run_key")?);
                let counts = RunCounts {
                    model_rounds: row.count("step")?,
                    tool_calls: row.count("step")?,
                    denied: row.count("step")?,
                    failed: row.count("step")?,
                    unknown: row.count("step")?,
                    ..RunCounts::default()
                };
                found.insert(run, counts);
            }
            for mut row in self.sql.query(COSTS, &params)? {
                let run = RunKey(row.digest("spend.run_key")?);
                found.entry(run).or_default().cost.0 = row.count("spend.settled_microusd")?;
            }
        }
        Ok(found)
    }
}

/// The limit applies before the message kinds are compared, so that a rare kind does not read every run.
const OF_ALL: &str = "
    SELECT newest.status, COUNT(*),
        COUNT(*) FILTER (WHERE ?4 = '' OR EXISTS (
            SELECT 1 FROM message WHERE message.run_key = newest.run_key AND message.kind = ?4)),
        COUNT(*) FILTER (WHERE newest.wait_kind IS NOT NULL AND (?4 = '' OR EXISTS (
            SELECT 1 FROM message WHERE message.run_key = newest.run_key AND message.kind = ?4)))
    FROM (SELECT run_key, status, wait_kind FROM run WHERE started_at_ms >= ?1 AND started_at_ms <= ?2
        ORDER BY started_at_ms DESC LIMIT ?3) AS newest
    GROUP BY newest.status";

const OF_AGENT: &str = "
    SELECT newest.status, COUNT(*),
        COUNT(*) FILTER (WHERE ?4 = '' OR EXISTS (
            SELECT 1 FROM message WHERE message.run_key = newest.run_key AND message.kind = ?4)),
        COUNT(*) FILTER (WHERE newest.wait_kind IS NOT NULL AND (?4 = '' OR EXISTS (
            SELECT 1 FROM message WHERE message.run_key = newest.run_key AND message.kind = ?4)))
    FROM (SELECT run_key, status, wait_kind FROM run
        WHERE agent_id = ?5 AND started_at_ms >= ?1 AND started_at_ms <= ?2
        ORDER BY started_at_ms DESC LIMIT ?3) AS newest
    GROUP BY newest.status";

impl View<'_> {
    /// Counts runs per status, at most the newest [`RUNS_COUNTED_MAX`].
    pub fn status_counts(&mut self, filter: &StatusCountsFilter) -> Result<StatusCounts> {
        let kind = filter.cause.map_or("", MessageKind::as_str);
        let (since, until) = (
            filter.since.unwrap_or(Millis(i64::MIN)),
            filter.until.unwrap_or(Millis(i64::MAX)),
        );
        let page = [
            since.into(),
            until.into(),
            limit(RUNS_COUNTED_MAX + 1),
            kind.into(),
        ];
        let rows = match &filter.agent_id {
            None => self.sql.query(OF_ALL, &page)?,
            Some(agent) => {
                let [since, until, at_most, kind] = page;
                self.sql
                    .query(OF_AGENT, &[since, until, at_most, kind, agent.into()])?
            }
        };
        let (mut counts, mut examined) = (StatusCounts::default(), 0_u64);
        for mut row in rows {
            let status = row.word("run.status", RunStatus::parse)?;
            examined = examined.saturating_add(row.count("run")?);
            let (matching, waiting) = (row.count("run")?, row.count("run")?);
            counts.add(status, matching, waiting);
        }
        counts.is_lower_bound = examined > u64::from(RUNS_COUNTED_MAX);
        Ok(counts)
    }
}

const FLAG_FAILED: &str = "
    UPDATE run SET needs_attention = 1 WHERE run_key = ?1 AND EXISTS (
        SELECT 1 FROM agent WHERE agent.agent_id = run.agent_id AND agent.visibility = 'public')";

const FLAG: &str = "UPDATE run SET needs_attention = 1 WHERE run_key = ?1";

const FLAG_OF_STEP: &str = "
    UPDATE run SET needs_attention = 1 WHERE run_key = (SELECT run_key FROM step WHERE operation_id = ?1)";

impl Tx<'_> {
    /// Marks a run that ended without success. Private agents belong to `wakeful run`, which has shown the
    /// failure to the person who waits for it.
    pub fn flag_failed_run(&mut self, run: &RunKey) -> Result<()> {
        self.sql.run(FLAG_FAILED, &[run.into()])
    }

    /// Marks a run whose actions have unknown outcomes.
    pub(crate) fn flag_run(&mut self, run: &RunKey) -> Result<()> {
        self.sql.run(FLAG, &[run.into()])
    }

    /// Marks the run of a step with an unknown outcome.
    pub(crate) fn flag_run_of_step(&mut self, operation: Param<'_>) -> Result<()> {
        self.sql.run(FLAG_OF_STEP, &[operation])
    }
}

const DISMISS: &str = "UPDATE run SET needs_attention = 0 WHERE run_key = ?1 AND needs_attention = 1";

impl Tx<'_> {
    /// Dismisses a run that needs attention. Returns whether it did.
    pub fn dismiss_run(&mut self, run: &RunKey) -> Result<bool> {
        Ok(self.sql.execute(DISMISS, &[run.into()])? == 1)
    }
}

pub(crate) const FLAGGED: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE needs_attention = 1 ORDER BY started_at_ms DESC, run_key LIMIT ?1";

pub(crate) const COUNT_FLAGGED: &str = "SELECT COUNT(*) FROM run WHERE needs_attention = 1";

impl View<'_> {
    /// Returns the runs that need attention, newest first, and how many there are in total.
    pub fn runs_needing_attention(&mut self, at_most: u32) -> Result<(Vec<RunRow>, u64)> {
        let runs = records(self.sql.query(FLAGGED, &[limit(at_most)])?, read)?;
        let row = at_most_one(self.sql.query(COUNT_FLAGGED, &[])?);
        let total = row.ok_or(StoreError::Malformed("run"))?.count("run")?;
        Ok((runs, total))
    }
}

pub(crate) const PARKED: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE status = 'open' AND wait_kind = 'budget' ORDER BY agent_id, run_key LIMIT ?1";

impl View<'_> {
    /// Returns the runs that wait for budget, by agent.
    pub fn parked_runs(&mut self, at_most: u32) -> Result<Vec<RunRow>> {
        records(self.sql.query(PARKED, &[limit(at_most)])?, read)
    }
}

const HAS_UNKNOWN: &str = "
    SELECT 1 FROM step WHERE run_key = ?1 AND status = 'outcome_unknown' LIMIT 1";

impl View<'_> {
    /// Whether the outcome of an action of a run is unknown.
    pub fn has_unknown_outcome(&mut self, run: &RunKey) -> Result<bool> {
        Ok(!self.sql.query(HAS_UNKNOWN, &[run.into()])?.is_empty())
    }
}
