//! Runs with their states, and requests to cancel them.

use wakeful_core::budget::LimitId;
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{StoredWait, Suspension, Wait, WaitKind};

use crate::rows::{RunFilter, RunRow, RunState};
use crate::sql::{Param, Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, row_binding};

const CREATE: &str = "
    INSERT INTO run (run_key, agent_id, thread_id, machine, machine_version, version, state, status,
        started_at_ms, ended_at_ms, wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
    ON CONFLICT (run_key) DO NOTHING";

impl Tx<'_> {
    pub fn create_run(&mut self, run: &RunRow) -> Result<()> {
        let wait = StoredSuspension::new(run.suspension);
        let [kind, until, needed, limit_id, since] = wait.params();
        let params = [
            (&run.run_key).into(),
            (&run.agent_id).into(),
            (&run.thread_id).into(),
            run.machine.as_str().into(),
            run.machine_version.into(),
            run.version.into(),
            run.state.as_str().into(),
            run.status.as_str().into(),
            run.started_at.into(),
            run.ended_at.into(),
            kind,
            until,
            needed,
            limit_id,
            since,
        ];
        self.sql.run_once(CREATE, &params)?;
        self.sql
            .run(BEGAN, &[(&run.agent_id).into(), run.started_at.into()])
    }
}

const BEGAN: &str = "UPDATE agent_head SET last_run_started_at_ms = ?2 WHERE agent_id = ?1";

/// The machine's version may change with the state; the agent of a run does not.
const PUT_STATE: &str = "
    UPDATE run SET machine_version = ?3, version = ?4, state = ?5, status = ?6, ended_at_ms = ?7, wait_kind = ?8,
        wait_until_ms = ?9, wait_amount = ?10, wait_limit_id = ?11, suspended_at_ms = ?12, claim_count = 0
    WHERE run_key = ?1 AND version = ?2 AND status = 'open'";

impl Tx<'_> {
    /// Stores a run's next state. `expected` is the version at which it was read; any other fails with
    /// [`StoreError::Conflict`].
    pub fn put_state(&mut self, run: &RunRow, expected: i64) -> Result<()> {
        let wait = StoredSuspension::new(run.suspension);
        let [kind, until, needed, limit_id, since] = wait.params();
        let params = [
            (&run.run_key).into(),
            expected.into(),
            run.machine_version.into(),
            run.version.into(),
            run.state.as_str().into(),
            run.status.as_str().into(),
            run.ended_at.into(),
            kind,
            until,
            needed,
            limit_id,
            since,
        ];
        self.sql.run_once(PUT_STATE, &params)
    }
}

const ONE: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE run_key = ?1";

impl View<'_> {
    pub fn run(&mut self, run: &RunKey) -> Result<Option<RunRow>> {
        let rows = self.sql.query(ONE, &[run.into()])?;
        at_most_one(rows).map(read).transpose()
    }
}

const ALL: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE started_at_ms <= ?2 AND NOT (started_at_ms = ?2 AND run_key <= ?3)
    ORDER BY started_at_ms DESC, run_key LIMIT ?1";

/// The plus prevents SQLite from scanning all runs in order of time: few are open, however many have ended.
const OPEN: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE status = 'open' AND +started_at_ms <= ?2 AND NOT (started_at_ms = ?2 AND run_key <= ?3)
    ORDER BY +started_at_ms DESC, run_key LIMIT ?1";

const OF_AGENT: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE agent_id = ?4 AND started_at_ms <= ?2 AND NOT (started_at_ms = ?2 AND run_key <= ?3)
    ORDER BY started_at_ms DESC, run_key LIMIT ?1";

const OPEN_OF_AGENT: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE agent_id = ?4 AND status = 'open' AND +started_at_ms <= ?2
        AND NOT (started_at_ms = ?2 AND run_key <= ?3)
    ORDER BY +started_at_ms DESC, run_key LIMIT ?1";

const UNSUCCESSFUL: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE status IN ('failed', 'out_of_rounds', 'cancelled', 'abandoned') AND started_at_ms <= ?2
        AND NOT (started_at_ms = ?2 AND run_key <= ?3) AND (?4 = '' OR agent_id = ?4)
    ORDER BY started_at_ms DESC, run_key LIMIT ?1";

const QUARANTINED: &str = "
    SELECT run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms, ended_at_ms,
        wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms, fault
    FROM run WHERE status = 'quarantined' AND started_at_ms <= ?2 AND NOT (started_at_ms = ?2 AND run_key <= ?3)
        AND (?4 = '' OR agent_id = ?4)
    ORDER BY started_at_ms DESC, run_key LIMIT ?1";

impl View<'_> {
    /// Returns runs, newest first.
    pub fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunRow>> {
        let (started, key) = match &filter.before {
            // Sorts before every run of that time.
            None => (filter.until.unwrap_or(Millis(i64::MAX)), RunKey(Digest::ZERO)),
            // A deleted run has no position in the list, so nothing follows it.
            Some(before) => match self.run(before)? {
                Some(run) => (run.started_at, run.run_key),
                None => return Ok(Vec::new()),
            },
        };
        let page = [limit(filter.limit), started.into(), (&key).into()];
        let [at_most, started, key] = page;
        let rows = match (&filter.agent_id, filter.state) {
            (None, RunState::Any) => self.sql.query(ALL, &page)?,
            (None, RunState::Open) => self.sql.query(OPEN, &page)?,
            (Some(agent), RunState::Any) => {
                self.sql.query(OF_AGENT, &[at_most, started, key, agent.into()])?
            }
            (Some(agent), RunState::Open) => self
                .sql
                .query(OPEN_OF_AGENT, &[at_most, started, key, agent.into()])?,
            (agent, RunState::Quarantined | RunState::Unsuccessful) => {
                let agent = agent.as_ref().map_or("", AgentId::as_str);
                let query = match filter.state {
                    RunState::Unsuccessful => UNSUCCESSFUL,
                    RunState::Any | RunState::Open | RunState::Quarantined => QUARANTINED,
                };
                self.sql.query(query, &[at_most, started, key, agent.into()])?
            }
        };
        records(rows, read)
    }
}

pub(crate) fn read(mut row: Row) -> Result<RunRow> {
    Ok(RunRow {
        run_key: RunKey(row.digest("run.run_key")?),
        agent_id: row.agent_id("run.agent_id")?,
        thread_id: ThreadId::new(row.text("run.thread_id")?),
        machine: row.text("run.machine")?,
        machine_version: row.small_count("run.machine_version")?,
        version: row.int("run.version")?,
        state: row.text("run.state")?,
        status: row.word("run.status", RunStatus::parse)?,
        started_at: row.millis("run.started_at_ms")?,
        ended_at: row.optional_int("run.ended_at_ms")?.map(Millis),
        suspension: suspension(&mut row)?,
        fault: row.optional_text("run.fault")?,
    })
}

/// Reads `wait_kind, wait_until_ms, wait_amount, wait_limit_id, suspended_at_ms`.
pub(crate) fn suspension(row: &mut Row) -> Result<Option<Suspension>> {
    let (kind, until) = (
        row.optional_word("run.wait_kind", WaitKind::parse)?,
        row.optional_millis("run.wait_until_ms")?,
    );
    let stored = StoredWait {
        until,
        needed: row.optional_count("run.wait_amount")?,
        limit: row.optional_digest("run.wait_limit_id")?.map(LimitId),
    };
    let since = row.optional_millis("run.suspended_at_ms")?;
    let Some((kind, since)) = kind.zip(since) else {
        return Ok(None);
    };
    let wait = Wait::new(kind, stored).ok_or(StoreError::Malformed("run.wait_kind"))?;
    Ok(Some(Suspension { wait, since }))
}

/// A suspension whose limit can be borrowed as a parameter.
struct StoredSuspension {
    suspension: Option<Suspension>,
    limit: Option<LimitId>,
}

impl StoredSuspension {
    fn new(suspension: Option<Suspension>) -> Self {
        let limit = suspension.and_then(|suspension| suspension.wait.limit());
        Self { suspension, limit }
    }

    fn params(&self) -> [Param<'_>; 5] {
        let wait = self.suspension.map(|suspension| suspension.wait);
        [
            wait.map(|wait| wait.kind().as_str()).into(),
            wait.and_then(Wait::until).into(),
            wait.and_then(Wait::needed).into(),
            self.limit.as_ref().map(|limit| &limit.0).into(),
            self.suspension.map(|suspension| suspension.since).into(),
        ]
    }
}

/// Ids that a prefix is matched with: a list of candidates that a person can read.
pub(crate) const PREFIX_MATCHES_MAX: u32 = 5;

/// Prefixes of decisions and steps have at least this many digits. Any unique prefix that a person would type
/// has.
const OWNED_PREFIX_MIN: usize = 4;

/// A range instead of a pattern: keys are bytes, and both databases order bytes the same way. Every run has
/// a message with the same key; a queued one has only the message, a refused cause only the wake.
const BETWEEN: &str = "
    SELECT run_key FROM message WHERE run_key >= ?1 AND run_key <= ?2
    UNION SELECT run_key FROM wake WHERE run_key >= ?1 AND run_key <= ?2
    ORDER BY run_key LIMIT ?3";

const OWNERS: &str = "
    SELECT run_key FROM decision WHERE decision_id >= ?1 AND decision_id <= ?2
    UNION SELECT run_key FROM step WHERE operation_id >= ?1 AND operation_id <= ?2
    ORDER BY run_key LIMIT ?3";

impl View<'_> {
    /// Returns the runs whose key starts with these hex digits, and those with such a decision or step: at
    /// most [`PREFIX_MATCHES_MAX`], and more than one if the prefix is ambiguous.
    pub fn runs_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<RunKey>> {
        let Some((first, last)) = range(hex_prefix) else {
            return Ok(Vec::new());
        };
        let params = [(&first).into(), (&last).into(), limit(PREFIX_MATCHES_MAX)];
        let mut rows = self.sql.query(BETWEEN, &params)?;
        if hex_prefix.len() >= OWNED_PREFIX_MIN {
            rows.extend(self.sql.query(OWNERS, &params)?);
        }
        let mut keys = records(rows, |mut row| row.digest("message.run_key").map(RunKey))?;
        keys.sort_unstable();
        keys.dedup();
        keys.truncate(PREFIX_MATCHES_MAX as usize);
        Ok(keys)
    }
}

/// Returns the smallest and the largest key with this prefix, or `None` if it is not a valid prefix.
/// Upper-case digits are accepted, because people copy keys from various places.
pub(crate) fn range(hex_prefix: &str) -> Option<(Digest, Digest)> {
    let prefix = hex_prefix.to_ascii_lowercase();
    let padded = |fill: &str| {
        let rest = fill.repeat(64_usize.checked_sub(prefix.len())?);
        Digest::from_hex(&format!("{prefix}{rest}"))
    };
    Some((padded("0")?, padded("f")?))
}

pub(crate) const NEXT_DUE: &str = "SELECT MIN(wait_until_ms) FROM run WHERE status = 'open' AND wait_until_ms IS NOT NULL AND wait_until_ms > ?1";

impl View<'_> {
    /// Returns when the next run that waits for a time is due, or `None` if no run waits for one.
    pub fn next_due(&mut self, now: Millis) -> Result<Option<Millis>> {
        let row = at_most_one(self.sql.query(NEXT_DUE, &[now.into()])?);
        let due = row
            .map(|mut row| row.optional_millis("run.wait_until_ms"))
            .transpose()?;
        Ok(due.flatten())
    }
}

const LAST_BEGAN: &str = "SELECT last_run_started_at_ms FROM agent_head WHERE agent_id = ?1";

impl View<'_> {
    /// Returns when the agent's newest run started: a future time if the clock was set back since.
    pub fn last_run_at(&mut self, agent: &AgentId) -> Result<Option<Millis>> {
        let row = at_most_one(self.sql.query(LAST_BEGAN, &[agent.into()])?);
        let began = row
            .map(|mut row| row.optional_millis("agent_head.last_run_started_at_ms"))
            .transpose()?;
        Ok(began.flatten())
    }
}

const MAKE_DUE: &str = "
    UPDATE run SET wait_kind = NULL, wait_until_ms = NULL, wait_amount = NULL, wait_limit_id = NULL, suspended_at_ms = NULL
    WHERE run_key = ?1 AND status = 'open' AND wait_kind <> 'turn'";

impl Tx<'_> {
    /// Ends the wait of a run, so that it is checked again at once. A run that waits for its turn is not
    /// changed; it finds new inputs when its turn comes.
    pub fn make_run_due(&mut self, run: &RunKey) -> Result<()> {
        self.sql.run(MAKE_DUE, &[run.into()])
    }
}

const END_BUDGET_WAITS: &str = "
    UPDATE run SET wait_kind = NULL, wait_until_ms = NULL, wait_amount = NULL, wait_limit_id = NULL, suspended_at_ms = NULL
    WHERE status = 'open' AND wait_kind = 'budget' AND (?1 = '' OR agent_id = ?1)";

impl Tx<'_> {
    /// Retries the runs of one agent, or of all, that wait for budget, because prices may have changed.
    pub fn end_budget_waits(&mut self, agent: Option<&AgentId>) -> Result<()> {
        let agent = agent.map_or("", AgentId::as_str);
        self.sql.run(END_BUDGET_WAITS, &[agent.into()])
    }
}

pub(crate) const WAITING_FOR_BUDGET: &str = "
    SELECT DISTINCT agent_id FROM run WHERE status = 'open' AND wait_kind = 'budget' ORDER BY agent_id LIMIT ?1";

impl View<'_> {
    /// Returns the agents whose runs wait for budget, by name. At most [`ROWS_MAX`].
    pub fn agents_waiting_for_budget(&mut self) -> Result<Vec<AgentId>> {
        let rows = self.sql.query(WAITING_FOR_BUDGET, &[limit(ROWS_MAX)])?;
        records(rows, |mut row| row.agent_id("run.agent_id"))
    }
}

const SUSPEND: &str = "
    UPDATE run SET wait_kind = ?2, wait_until_ms = ?3, wait_amount = ?4, wait_limit_id = ?5, suspended_at_ms = ?6
    WHERE run_key = ?1 AND status = 'open'";

impl Tx<'_> {
    /// Suspends an open run.
    pub fn suspend_run(&mut self, run: &RunKey, suspension: Suspension) -> Result<()> {
        let wait = StoredSuspension::new(Some(suspension));
        let [kind, until, needed, limit_id, since] = wait.params();
        self.sql
            .run(SUSPEND, &[run.into(), kind, until, needed, limit_id, since])
    }
}

const COUNT_CLAIM: &str =
    "UPDATE run SET claim_count = claim_count + 1 WHERE run_key = ?1 RETURNING claim_count";

impl Tx<'_> {
    /// Counts a claim of a run and returns the number of claims since its last transition.
    pub fn count_claim(&mut self, run: &RunKey) -> Result<u32> {
        let row = at_most_one(self.sql.query(COUNT_CLAIM, &[run.into()])?);
        row.map_or(Ok(0), |mut row| row.small_count("run.claim_count"))
    }
}

const FORGET_CLAIMS: &str = "UPDATE run SET claim_count = 0 WHERE run_key = ?1 AND claim_count > 0";

impl Tx<'_> {
    /// Resets the claim count, after the runner released the run in an orderly way.
    pub fn reset_claim_count(&mut self, run: &RunKey) -> Result<()> {
        self.sql.run(FORGET_CLAIMS, &[run.into()])
    }
}

/// An open run can be quarantined, and a quarantined run can change to any status. A run that has ended is
/// not changed.
const SET_STATUS: &str = "
    UPDATE run SET status = ?2, fault = COALESCE(?3, fault), ended_at_ms = ?4, wait_kind = NULL,
        wait_until_ms = NULL, wait_amount = NULL, wait_limit_id = NULL, suspended_at_ms = NULL, claim_count = 0
    WHERE run_key = ?1 AND status IN ('open', 'quarantined') AND status <> ?2";

impl Tx<'_> {
    /// Quarantines an open run, or ends or reopens a quarantined one, depending on `status`.
    pub fn set_run_status(
        &mut self,
        run: &RunKey,
        status: RunStatus,
        fault: Option<&str>,
        at: Millis,
    ) -> Result<bool> {
        let ended = (status != RunStatus::Open).then_some(at);
        let params = [run.into(), status.as_str().into(), fault.into(), ended.into()];
        Ok(self.sql.execute(SET_STATUS, &params)? == 1)
    }
}

const REQUEST_CANCEL: &str = "
    INSERT INTO run_cancel (run_key, at_ms) VALUES (?1, ?2)
    ON CONFLICT (run_key) DO NOTHING";

impl Tx<'_> {
    /// Requests the cancellation of a run.
    pub fn request_cancel(&mut self, run: &RunKey, at: Millis) -> Result<()> {
        if self.sql.execute(REQUEST_CANCEL, &[run.into(), at.into()])? > 0 {
            self.sql.touch(&row_binding::CANCEL, &[run.into()], Some(at));
        }
        // A cancelled run ends every wait.
        self.make_run_due(run)
    }
}

const CANCEL_REQUESTED: &str = "SELECT at_ms FROM run_cancel WHERE run_key = ?1";

impl View<'_> {
    /// Whether the cancellation of a run was requested.
    pub fn cancel_requested(&mut self, run: &RunKey) -> Result<bool> {
        let is_pending = self.stops.as_ref().is_some_and(|stops| stops.is_cancelled(run));
        Ok(is_pending || !self.sql.query(CANCEL_REQUESTED, &[run.into()])?.is_empty())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sqlite::open::make_in_memory;

    /// Returns SQLite's query plan.
    pub(crate) fn plan(query: &str) -> Vec<String> {
        let mut database = make_in_memory(&crate::schema::AGENT, "host").expect("a database");
        let explain: &'static str = Box::leak(format!("EXPLAIN QUERY PLAN {query}").into_boxed_str());
        let one = || Param::from(1_i64);
        let params = [one(), one(), "".into(), "main".into(), one(), one(), one()];
        let count = (1..=params.len())
            .filter(|n| query.contains(&format!("?{n}")))
            .count();
        let rows = database.query(explain, &params[..count]).expect("a plan");
        let plan = rows.into_iter().map(|mut row| {
            let _ = (row.int("id"), row.int("parent"), row.int("notused"));
            row.text("detail").expect("a line")
        });
        plan.collect()
    }

    #[test]
    fn waits_are_found_by_their_own_index() {
        for (query, index) in [
            (QUARANTINED, "run_quarantined"),
            (UNSUCCESSFUL, "run_unsuccessful"),
            (crate::attention::FLAGGED, "run_attention"),
            (crate::attention::COUNT_FLAGGED, "run_attention"),
            (crate::attention::PARKED, "run_wait"),
            (crate::message::RETRIES, "message_of_retry"),
            (NEXT_DUE, "run_due"),
            (crate::decision::PENDING, "decision_pending"),
            (crate::decision::ALL, "decision_asked"),
            (crate::decision::OF_RUN, "decision_of_run"),
            (crate::decision::RULINGS, "decision_of_run"),
            (crate::decision::OWED, "decision_pending"),
            (crate::decision::OWED, "run_quarantined"),
            (crate::queue::STANDING, "decision_pending_of_agent"),
            (crate::queue::STANDING, "run_quarantined_of_agent"),
            (
                crate::dispatch::RUNS,
                "COVERING INDEX run_wait (wait_kind=? AND (agent_id,run_key)>(?,?))",
            ),
            (WAITING_FOR_BUDGET, "COVERING INDEX run_wait"),
            (crate::dispatch::RUNS, "run_due"),
            (crate::dispatch::RUNS, "run_suspended"),
            (crate::dispatch::MESSAGES, "queue_due_of_agent"),
            (crate::dispatch::MESSAGES, "queue_admitted"),
            (crate::dispatch::RUNS_OF_AGENT, "run_open"),
            (crate::message::CHILDREN, "message_of_parent"),
            (crate::message::AWAITED, "message_of_parent"),
            (crate::message::AWAITED, "run_open"),
            (crate::message::AWAITED, "run_quarantined_of_agent"),
        ] {
            let plan = plan(query);
            assert!(
                plan.iter().any(|line| line.contains(index)),
                "{index}: {query}: {plan:?}"
            );
            let bare = |line: &&String| {
                ["run", "decision"].iter().any(|table| {
                    **line == format!("SCAN {table}")
                        || line.starts_with(&format!("SCAN {table} USING PRIMARY"))
                })
            };
            assert_eq!(plan.iter().find(bare), None, "{query}: {plan:?}");
        }
    }

    #[test]
    fn open_runs_are_found_without_scanning_ended_ones() {
        for query in [OPEN, OPEN_OF_AGENT, crate::queue::STANDING] {
            let plan = plan(query);
            let of_open = plan.iter().find(|line| line.contains("run_open"));
            assert!(of_open.is_some(), "{query}: {plan:?}");
            let partial = |line: &str| line.contains("run_open") || line.contains("run_quarantined");
            let of_all = |line: &&String| line.starts_with("SCAN run") && !partial(line);
            assert_eq!(plan.iter().find(of_all), None, "{query}: {plan:?}");
        }
    }
}
