//! Schedules and the outcomes of their firings.

use wakeful_core::id::{AgentId, EventName, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{
    Concurrency, EXECUTIONS_KEPT_MAX, ExecutionOutcome, Guard, Reason, SET_BACK_MS, Schedule, ScheduleReason,
    ScheduleStatus, TriggerSource,
};
use wakeful_core::time::Millis;

use crate::rows::{
    ExecutionWithRun, ScheduleFilter, ScheduleRows, ScheduledExecutionRow, UnreadableSchedule,
};
use crate::sql::{Param, Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{Result, StoreError, Tx, View, row_binding};

const CREATE: &str = "
    INSERT INTO schedule (schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, guard, event_name, created_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
    ON CONFLICT (schedule_id) DO NOTHING";

impl Tx<'_> {
    /// Stores a new schedule. Returns false if the name is taken.
    pub fn create_schedule(&mut self, timer: &Schedule) -> Result<bool> {
        let (intent, guard) = (intent(timer)?, guard(timer));
        let mut params = fields(timer, &intent, guard.as_deref()).to_vec();
        params.push(timer.created_at.into());
        let is_new = self.sql.execute(CREATE, &params)? == 1;
        if is_new {
            let key = [(&timer.schedule_id).into()];
            self.sql
                .touch(&row_binding::SCHEDULE, &key, Some(timer.created_at));
        }
        Ok(is_new)
    }
}

const PUT: &str = "
    UPDATE schedule SET agent_id = ?2, revision = ?3, label = ?4, pattern = ?5, message = ?6, status = ?7, concurrency = ?8,
        allows_catch_up = ?9, auto_disable_after_run = ?10, catch_up_window_seconds = ?11,
        max_catch_up_runs_per_tick = ?12, wakes_always = ?13, last_execution_at_ms = ?14, next_execution_at_ms = ?15,
        evaluated_until_ms = ?16, last_run_key = ?17, execution_count = ?18, guard = ?20, event_name = ?21, version = version + 1
    WHERE schedule_id = ?1 AND version = ?19";

impl Tx<'_> {
    /// Stores a changed schedule and increments its version. Fails with [`StoreError::Conflict`] if it
    /// changed since it was read.
    pub fn put_schedule(&mut self, timer: &Schedule) -> Result<()> {
        let (intent, guard) = (intent(timer)?, guard(timer));
        self.sql
            .touch(&row_binding::SCHEDULE, &[(&timer.schedule_id).into()], None);
        exactly_one(self.sql.execute(PUT, &fields(timer, &intent, guard.as_deref()))?)
    }
}

fn intent(timer: &Schedule) -> Result<String> {
    serde_json::to_string(&timer.when).map_err(|_| StoreError::Malformed("schedule.pattern"))
}

fn guard(timer: &Schedule) -> Option<String> {
    timer.guard.as_ref().map(|guard| guard.json().to_string())
}

fn fields<'a>(timer: &'a Schedule, intent: &'a str, guard: Option<&'a str>) -> [Param<'a>; 21] {
    [
        (&timer.schedule_id).into(),
        (&timer.agent_id).into(),
        timer.revision.into(),
        timer.label.as_str().into(),
        intent.into(),
        timer.message.as_str().into(),
        timer.status.as_str().into(),
        timer.concurrency.as_str().into(),
        timer.allows_catch_up.into(),
        timer.auto_disable_after_run.into(),
        timer.catch_up_window_seconds.into(),
        timer.max_catch_up_runs_per_tick.into(),
        timer.always.into(),
        timer.last_execution_at.into(),
        timer.next_execution_at.into(),
        timer.seen_until.into(),
        timer.last_run.as_ref().into(),
        timer.executions.into(),
        timer.version.into(),
        guard.into(),
        timer.event.as_ref().into(),
    ]
}

fn read(mut row: Row) -> Result<Schedule> {
    Ok(Schedule {
        schedule_id: row.rule_id("schedule.schedule_id")?,
        agent_id: row.agent_id("schedule.agent_id")?,
        revision: row.small_count("schedule.revision")?,
        label: row.text("schedule.label")?,
        when: row.word("schedule.pattern", |json| serde_json::from_str(json).ok())?,
        message: row.text("schedule.message")?,
        status: row.word("schedule.status", ScheduleStatus::parse)?,
        concurrency: row.word("schedule.concurrency", Concurrency::parse)?,
        allows_catch_up: row.flag("schedule.allows_catch_up")?,
        auto_disable_after_run: row.flag("schedule.auto_disable_after_run")?,
        catch_up_window_seconds: row.count("schedule.catch_up_window_seconds")?,
        max_catch_up_runs_per_tick: row.count("schedule.max_catch_up_runs_per_tick")?,
        always: row.flag("schedule.wakes_always")?,
        last_execution_at: row.optional_millis("schedule.last_execution_at_ms")?,
        next_execution_at: row.optional_millis("schedule.next_execution_at_ms")?,
        seen_until: row.millis("schedule.evaluated_until_ms")?,
        last_run: row.optional_digest("schedule.last_run_key")?.map(RunKey),
        executions: row.count("schedule.execution_count")?,
        version: row.count("schedule.version")?,
        created_at: row.millis("schedule.created_at_ms")?,
        guard: row.optional_word("schedule.guard", |json| {
            Guard::parse(&serde_json::from_str(json).ok()?).ok()
        })?,
        event: row.optional_word("schedule.event_name", |name| EventName::parse(name).ok())?,
    })
}

/// Reads rows one by one, so that an unreadable one does not hide the others.
fn read_each(rows: Vec<Row>) -> Result<ScheduleRows> {
    let mut found = ScheduleRows::default();
    for row in rows {
        let (schedule_id, agent_id) = (row.text_or_empty(0), row.text_or_empty(1));
        match read(row) {
            Ok(timer) => found.timers.push(timer),
            Err(StoreError::Malformed(column)) => found.unreadable.push(UnreadableSchedule {
                schedule_id,
                agent_id,
                column,
            }),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

const ONE: &str = "
    SELECT schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, created_at_ms, guard, event_name
    FROM schedule WHERE schedule_id = ?1";

impl View<'_> {
    pub fn schedule(&mut self, schedule: &RuleId) -> Result<Option<Schedule>> {
        at_most_one(self.sql.query(ONE, &[schedule.into()])?)
            .map(read)
            .transpose()
    }
}

const LIST: &str = "
    SELECT schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, created_at_ms, guard, event_name
    FROM schedule WHERE schedule_id > ?1 ORDER BY schedule_id LIMIT ?2";

const LIST_OF_AGENT: &str = "
    SELECT schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, created_at_ms, guard, event_name
    FROM schedule WHERE schedule_id > ?1 AND agent_id = ?3 ORDER BY schedule_id LIMIT ?2";

impl View<'_> {
    /// Returns schedules by name.
    pub fn schedules(&mut self, filter: &ScheduleFilter) -> Result<ScheduleRows> {
        let after = filter.after.as_ref().map_or("", RuleId::as_str);
        let rows = match &filter.agent_id {
            None => self.sql.query(LIST, &[after.into(), limit(filter.limit)])?,
            Some(agent) => self
                .sql
                .query(LIST_OF_AGENT, &[after.into(), limit(filter.limit), agent.into()])?,
        };
        read_each(rows)
    }
}

const OF_EVENT: &str = "
    SELECT schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, created_at_ms, guard, event_name
    FROM schedule WHERE event_name = ?1 AND status = 'active' AND schedule_id > ?2 ORDER BY schedule_id LIMIT ?3";

impl View<'_> {
    /// Returns active schedules for an event after one, by name.
    pub fn schedules_for_event(
        &mut self,
        event: &EventName,
        after: Option<&RuleId>,
        at_most: u32,
    ) -> Result<ScheduleRows> {
        let after = after.map_or("", RuleId::as_str);
        read_each(
            self.sql
                .query(OF_EVENT, &[event.into(), after.into(), limit(at_most)])?,
        )
    }
}

const COUNT_OF_EVENT: &str = "SELECT COUNT(*) FROM schedule WHERE event_name = ?1 AND status <> 'disabled'";

impl View<'_> {
    /// Counts the schedules for an event that are not disabled.
    pub fn count_schedules_for_event(&mut self, event: &EventName) -> Result<u64> {
        let row = at_most_one(self.sql.query(COUNT_OF_EVENT, &[event.into()])?);
        row.map_or(Ok(0), |mut row| row.count("schedule.schedule_id"))
    }
}

const COUNT: &str = "SELECT COUNT(*) FROM schedule WHERE agent_id = ?1 AND status <> 'disabled'";

impl View<'_> {
    /// Counts the schedules of an agent that are not disabled.
    pub fn count_schedules_of(&mut self, agent: &AgentId) -> Result<u64> {
        let row = at_most_one(self.sql.query(COUNT, &[agent.into()])?);
        row.map_or(Ok(0), |mut row| row.count("schedule.schedule_id"))
    }
}

const DUE: &str = "
    SELECT schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, created_at_ms, guard, event_name
    FROM schedule WHERE status = 'active' AND next_execution_at_ms <= ?1
    ORDER BY next_execution_at_ms, schedule_id LIMIT ?2";

/// Schedules that were evaluated up to a time that is now in the future, because the clock was set back.
const AHEAD: &str = "
    SELECT schedule_id, agent_id, revision, label, pattern, message, status, concurrency, allows_catch_up,
        auto_disable_after_run, catch_up_window_seconds, max_catch_up_runs_per_tick, wakes_always, last_execution_at_ms,
        next_execution_at_ms, evaluated_until_ms, last_run_key, execution_count, version, created_at_ms, guard, event_name
    FROM schedule WHERE status = 'active' AND evaluated_until_ms > ?1 ORDER BY evaluated_until_ms DESC LIMIT ?2";

impl View<'_> {
    /// Returns active schedules to evaluate: those that are due, longest overdue first, and those that were
    /// last evaluated at a time that is in the future again because the clock was set back.
    pub fn due_schedules(&mut self, now: Millis, at_most: u32) -> Result<ScheduleRows> {
        let mut rows = self.sql.query(DUE, &[now.into(), limit(at_most)])?;
        let ahead = Millis(now.0.saturating_add(SET_BACK_MS));
        let left = at_most.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        rows.extend(self.sql.query(AHEAD, &[ahead.into(), limit(left)])?);
        read_each(rows)
    }
}

const NEXT: &str = "SELECT MIN(next_execution_at_ms) FROM schedule WHERE status = 'active'";

impl View<'_> {
    /// Returns when the next active schedule is due, or `None` if none is.
    pub fn next_schedule_due(&mut self) -> Result<Option<Millis>> {
        let row = at_most_one(self.sql.query(NEXT, &[])?);
        let next = row.map(|mut row| row.optional_millis("schedule.next_execution_at_ms"));
        Ok(next.transpose()?.flatten())
    }
}

const APPEND: &str = "
    INSERT INTO scheduled_execution (schedule_id, seq, revision, due_at_ms, firing_count, is_capped, trigger_source, outcome, reason,
        run_key, is_catch_up, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

const FORGOTTEN: &str = "SELECT seq FROM scheduled_execution WHERE schedule_id = ?1 AND seq <= ?2";

const FORGET: &str = "DELETE FROM scheduled_execution WHERE schedule_id = ?1 AND seq <= ?2";

impl Tx<'_> {
    /// Stores the outcome of a firing. The oldest record beyond a bound is deleted.
    pub fn append_execution(&mut self, row: &ScheduledExecutionRow) -> Result<()> {
        let params = [
            (&row.schedule_id).into(),
            row.seq.into(),
            row.revision.into(),
            row.due_at.into(),
            row.count.into(),
            row.is_capped.into(),
            row.source.as_str().into(),
            row.outcome.as_str().into(),
            row.reason.map(Reason::as_str).into(),
            row.run_key.as_ref().into(),
            row.is_catch_up.into(),
            row.at.into(),
        ];
        let key = [(&row.schedule_id).into(), row.seq.into()];
        self.sql.touch(&row_binding::EXECUTION, &key, Some(row.at));
        exactly_one(self.sql.execute(APPEND, &params)?)?;
        forget(&mut self.sql, row.schedule_id.as_str(), row.seq)
    }
}

fn forget(sql: &mut dyn Sql, name: &str, newest: u64) -> Result<()> {
    if let Some(oldest) = newest
        .checked_sub(EXECUTIONS_KEPT_MAX)
        .filter(|oldest| *oldest > 0)
    {
        for mut row in sql.query(FORGOTTEN, &[name.into(), oldest.into()])? {
            let seq = row.int("scheduled_execution.seq")?;
            sql.touch(&row_binding::EXECUTION, &[name.into(), seq.into()], None);
        }
        sql.execute(FORGET, &[name.into(), oldest.into()])?;
    }
    Ok(())
}

const DISABLE_UNREADABLE: &str = "
    UPDATE schedule SET status = 'paused', next_execution_at_ms = NULL, execution_count = execution_count + 1, version = version + 1
    WHERE schedule_id = ?1 AND status = 'active' RETURNING schedule_id, revision, execution_count";

const END_OF_AGENT: &str = "
    UPDATE schedule SET status = 'disabled', next_execution_at_ms = NULL, execution_count = execution_count + 1, version = version + 1
    WHERE agent_id = ?1 AND status <> 'disabled' RETURNING schedule_id, revision, execution_count";

impl Tx<'_> {
    /// Pauses an active schedule that cannot be read, and stores a record of it. Returns false if it is not
    /// active. The name is used as stored, because it may be the unreadable part.
    pub fn disable_unreadable_schedule(&mut self, name: &str, at: Millis) -> Result<bool> {
        let ended = self.sql.query(DISABLE_UNREADABLE, &[name.into()])?;
        let ending = Ending {
            source: TriggerSource::Tick,
            outcome: ExecutionOutcome::Unreadable,
            reason: ScheduleReason::Unreadable,
            at,
        };
        Ok(note_each(&mut self.sql, ended, &ending)? > 0)
    }

    /// Ends all schedules of a destroyed agent, including unreadable ones, each with a record. Returns how
    /// many.
    pub fn expire_schedules(&mut self, agent: &AgentId, at: Millis) -> Result<u64> {
        let ended = self.sql.query(END_OF_AGENT, &[agent.into()])?;
        let ending = Ending {
            source: TriggerSource::TriggerNow,
            outcome: ExecutionOutcome::Disabled,
            reason: ScheduleReason::AgentDestroyed,
            at,
        };
        note_each(&mut self.sql, ended, &ending)
    }
}

/// How and why schedules end.
struct Ending {
    source: TriggerSource,
    outcome: ExecutionOutcome,
    reason: ScheduleReason,
    at: Millis,
}

/// Stores the outcome of schedules without parsing their rows; their names may be invalid.
fn note_each(sql: &mut dyn Sql, rows: Vec<Row>, ending: &Ending) -> Result<u64> {
    let at = ending.at;
    let mut noted = 0;
    for mut row in rows {
        let name = row.text("schedule.schedule_id")?;
        let (revision, seq) = (
            row.int("schedule.revision")?,
            row.int("schedule.execution_count")?,
        );
        let params = [
            name.as_str().into(),
            seq.into(),
            revision.into(),
            at.into(),
            1_u64.into(),
            false.into(),
            ending.source.as_str().into(),
            ending.outcome.as_str().into(),
            ending.reason.as_str().into(),
            Param::Null,
            false.into(),
            at.into(),
        ];
        sql.touch(&row_binding::SCHEDULE, &[name.as_str().into()], Some(at));
        sql.touch(
            &row_binding::EXECUTION,
            &[name.as_str().into(), seq.into()],
            Some(at),
        );
        exactly_one(sql.execute(APPEND, &params)?)?;
        forget(sql, &name, u64::try_from(seq).unwrap_or(0))?;
        noted += 1;
    }
    Ok(noted)
}

/// An absorbed firing ends with the run that absorbed it.
const EXECUTIONS: &str = "
    SELECT one.schedule_id, one.seq, one.revision, one.due_at_ms, one.firing_count, one.is_capped, one.trigger_source, one.outcome,
        one.reason, one.run_key, one.is_catch_up, one.at_ms, run.status, run.started_at_ms, run.ended_at_ms
    FROM scheduled_execution AS one
        LEFT JOIN wake ON wake.run_key = one.run_key
        LEFT JOIN run ON run.run_key = COALESCE(wake.absorbed_by, one.run_key)
    WHERE one.schedule_id = ?1 ORDER BY one.seq DESC LIMIT ?2";

impl View<'_> {
    /// Returns the outcomes of a schedule's firings, newest first.
    pub fn executions(&mut self, schedule: &RuleId, at_most: u32) -> Result<Vec<ExecutionWithRun>> {
        records(
            self.sql.query(EXECUTIONS, &[schedule.into(), limit(at_most)])?,
            |mut row| {
                Ok(ExecutionWithRun {
                    row: ScheduledExecutionRow {
                        schedule_id: row.rule_id("scheduled_execution.schedule_id")?,
                        seq: row.count("scheduled_execution.seq")?,
                        revision: row.small_count("scheduled_execution.revision")?,
                        due_at: row.millis("scheduled_execution.due_at_ms")?,
                        count: row.count("scheduled_execution.firing_count")?,
                        is_capped: row.flag("scheduled_execution.is_capped")?,
                        source: row.word("scheduled_execution.trigger_source", TriggerSource::parse)?,
                        outcome: row.word("scheduled_execution.outcome", ExecutionOutcome::parse)?,
                        reason: row.optional_word("scheduled_execution.reason", Reason::parse)?,
                        run_key: row.optional_digest("scheduled_execution.run_key")?.map(RunKey),
                        is_catch_up: row.flag("scheduled_execution.is_catch_up")?,
                        at: row.millis("scheduled_execution.at_ms")?,
                    },
                    run_status: row.optional_word("run.status", RunStatus::parse)?,
                    run_started_at: row.optional_millis("run.started_at_ms")?,
                    run_ended_at: row.optional_millis("run.ended_at_ms")?,
                })
            },
        )
    }
}

const UNDER_WAY: &str = "
    SELECT queue.run_key FROM queue WHERE queue.run_key = ?1
    UNION ALL SELECT run.run_key FROM run WHERE run.run_key = ?1 AND run.status = 'open'
    UNION ALL SELECT wake.run_key FROM wake JOIN run ON run.run_key = wake.absorbed_by
        WHERE wake.run_key = ?1 AND run.status = 'open'";

impl View<'_> {
    /// Whether a run that a schedule requested is in progress: its message is queued, its run is open, or
    /// an open run absorbed it.
    pub fn is_run_active(&mut self, run: &RunKey) -> Result<bool> {
        Ok(!self.sql.query(UNDER_WAY, &[run.into()])?.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::plan;

    // Conformance: L-194
    #[test]
    fn schedules_are_found_by_their_own_indexes() {
        for (query, index) in [
            (LIST_OF_AGENT, "schedule_of_agent"),
            (DUE, "schedule_due"),
            (NEXT, "schedule_due"),
        ] {
            let plan = plan(query);
            assert!(
                plan.iter().any(|line| line.contains(index)),
                "{index}: {query}: {plan:?}"
            );
        }
    }
}
