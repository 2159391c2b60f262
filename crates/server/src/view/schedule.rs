//! Wire types of schedules.

use wakeful_api::{
    AddSchedule, EditSchedule, Schedule, ScheduleList, SchedulePattern, ScheduledExecution,
    UnreadableSchedule,
};
use wakeful_core::id::RuleId;
use wakeful_core::schedule::{self, FiringTime, Guard, ScheduleDraft, ScheduleError};
use wakeful_core::time::Millis;
use wakeful_runtime::api::ScheduleEdit;
use wakeful_runtime::rows::{ExecutionWithRun, ScheduleRows, ScheduledExecutionRow};

/// Number of upcoming firings shown.
pub const UPCOMING_SHOWN: usize = 3;

/// A schedule with its upcoming firings.
#[must_use]
pub fn schedule(timer: &schedule::Schedule) -> Schedule {
    let upcoming = match timer.next_execution_at {
        // Computed from just before the next firing, which is stored.
        Some(next) => timer.upcoming(Millis(next.0.saturating_sub(1)), UPCOMING_SHOWN),
        None => Ok(Vec::new()),
    };
    let upcoming = upcoming.unwrap_or_default();
    let moment = |at: Option<Millis>| at.map(Millis::rfc3339);
    Schedule {
        schedule_id: timer.schedule_id.to_string(),
        agent_id: timer.agent_id.to_string(),
        revision: timer.revision,
        label: timer.label.clone(),
        pattern: pattern(&timer.when),
        message: timer.message.clone(),
        status: timer.status,
        concurrency: timer.concurrency,
        allows_catch_up: timer.allows_catch_up,
        auto_disable_after_run: timer.auto_disable_after_run,
        catch_up_window_seconds: timer.catch_up_window_seconds,
        max_catch_up_runs_per_tick: timer.max_catch_up_runs_per_tick,
        always: timer.always,
        guard: timer.guard.as_ref().map(|guard| guard.json().clone()),
        event: timer.event.as_ref().map(ToString::to_string),
        last_execution_at: moment(timer.last_execution_at),
        next_execution_at: moment(timer.next_execution_at),
        upcoming: upcoming.into_iter().map(Millis::rfc3339).collect(),
        last_run_key: timer.last_run.map(|run| run.to_string()),
        execution_count: timer.executions,
        created_at: timer.created_at.rfc3339(),
        note: timer.note().map(str::to_owned),
    }
}

/// A list of schedules, including unreadable ones.
#[must_use]
pub fn schedules(found: &ScheduleRows) -> ScheduleList {
    let unreadable = found.unreadable.iter().map(|row| UnreadableSchedule {
        schedule_id: row.schedule_id.clone(),
        agent_id: row.agent_id.clone(),
        column: row.column.to_owned(),
    });
    ScheduleList {
        schedules: found.timers.iter().map(schedule).collect(),
        unreadable: unreadable.collect(),
    }
}

fn pattern(when: &FiringTime) -> SchedulePattern {
    match when {
        FiringTime::Cron { cron, time_zone } => SchedulePattern {
            cron: Some(cron.clone()),
            time_zone: Some(time_zone.clone()),
            ..SchedulePattern::default()
        },
        FiringTime::Every {
            interval_seconds,
            anchor,
        } => SchedulePattern {
            interval_seconds: Some(*interval_seconds),
            anchor: Some(anchor.rfc3339()),
            ..SchedulePattern::default()
        },
        FiringTime::At { at } => SchedulePattern {
            at: Some(at.rfc3339()),
            ..SchedulePattern::default()
        },
    }
}

/// A firing without its run.
#[must_use]
pub fn execution_row(row: &ScheduledExecutionRow) -> ScheduledExecution {
    execution(&ExecutionWithRun {
        row: row.clone(),
        run_status: None,
        run_started_at: None,
        run_ended_at: None,
    })
}

/// A firing with the result of its run.
#[must_use]
pub fn execution(execution: &ExecutionWithRun) -> ScheduledExecution {
    let row = &execution.row;
    ScheduledExecution {
        schedule_id: row.schedule_id.to_string(),
        seq: row.seq,
        revision: row.revision,
        due_at: row.due_at.rfc3339(),
        firing_count: row.count,
        is_capped: row.is_capped,
        trigger_source: row.source,
        outcome: row.outcome,
        reason: row.reason,
        run_key: row.run_key.map(|run| run.to_string()),
        run_status: execution.run_status,
        run_started_at: execution.run_started_at.map(Millis::rfc3339),
        run_ended_at: execution.run_ended_at.map(Millis::rfc3339),
        is_catch_up: row.is_catch_up,
        at: row.at.rfc3339(),
    }
}

/// Converts a request to a draft of the core. The id is the given or a generated one; `makes_up_for_missed`
/// is the default if the request does not specify catch-up.
pub fn draft(
    told: AddSchedule,
    schedule_id: RuleId,
    makes_up_for_missed: bool,
    now: Millis,
) -> Result<ScheduleDraft, ScheduleError> {
    let when = when(&told.pattern, now)?;
    let plain = ScheduleDraft::new(
        schedule_id,
        told.agent_id.0,
        when,
        told.message.unwrap_or_default(),
    );
    Ok(ScheduleDraft {
        label: told.label.unwrap_or_else(|| plain.label.clone()),
        is_paused: told.is_paused,
        concurrency: told.concurrency.unwrap_or_default(),
        allows_catch_up: told.allows_catch_up.unwrap_or(makes_up_for_missed),
        auto_disable_after_run: told.auto_disable_after_run || plain.auto_disable_after_run,
        catch_up_window_seconds: told
            .catch_up_window_seconds
            .unwrap_or(plain.catch_up_window_seconds),
        max_catch_up_runs_per_tick: told
            .max_catch_up_runs_per_tick
            .unwrap_or(plain.max_catch_up_runs_per_tick),
        always: told.always.unwrap_or(plain.always),
        guard: told.guard.as_ref().map(Guard::parse).transpose()?,
        event: told.event.map(|event| event.0),
        ..plain
    })
}

/// Converts an edit request.
pub fn edit(told: EditSchedule, now: Millis) -> Result<ScheduleEdit, ScheduleError> {
    Ok(ScheduleEdit {
        label: told.label,
        when: told.pattern.map(|pattern| when(&pattern, now)).transpose()?,
        say: told.message,
        concurrency: told.concurrency,
        allows_catch_up: told.allows_catch_up,
        always: told.always,
        guard: other("guard", told.guard.as_ref().map(Guard::parse), told.clear_guard)?,
        event: other("event", told.event.map(|event| Ok(event.0)), told.clear_event)?,
    })
}

/// The new value, its removal, or `None` if the request contains neither.
fn other<T>(
    field: &'static str,
    given: Option<Result<T, ScheduleError>>,
    none: bool,
) -> Result<Option<Option<T>>, ScheduleError> {
    match (given.transpose()?, none) {
        (Some(_), true) => {
            let problem = "is set and removed in one request; use only one of them".to_owned();
            Err(ScheduleError::Field { field, problem })
        }
        (Some(given), false) => Ok(Some(Some(given))),
        (None, true) => Ok(Some(None)),
        (None, false) => Ok(None),
    }
}

fn when(pattern: &SchedulePattern, now: Millis) -> Result<FiringTime, ScheduleError> {
    let given = schedule::SchedulePattern {
        cron: pattern.cron.as_deref(),
        time_zone: pattern.time_zone.as_deref(),
        interval_seconds: pattern.interval_seconds,
        anchor: pattern.anchor.as_deref(),
        at: pattern.at.as_deref(),
    };
    given.read(now)
}
